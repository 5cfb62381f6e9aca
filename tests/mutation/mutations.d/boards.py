# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Boards as their data sheets have them: clocks, console, Ethernet, ways back from a
hang, flash, serial ports. Among them is what the code did before, when it passed in an
emulator and would have failed on silicon. See mutations.py."""
CLOCK = 'hal/lm3s/lm3s_clock.c'
LM3S = 'hal/lm3s/port.c'
ENET = 'hal/drivers/stellaris_enet.c'
WATCHDOG = 'hal/drivers/stellaris_watchdog.h'
FLASH = 'tools/install/flash.py'
SLOTS = 'tools/install/flash_slots.py'
TTY = 'host_driver/serial/tty.c'
CONSOLE = 'tools/install/console.py'
EMAC = 'hal/drivers/emac.c'
PHY = 'hal/drivers/emac_link.c'
CHIP = 'hal/tm4c/chip.c'
PORT_TM4C = 'hal/tm4c/port.c'
SERIAL = 'hal/cortexm/serial_host.c'
LINE_C = 'hal/cortexm/pl011_line.c'
UART = 'hal/drivers/pl011.c'
LM3S_CABLE, TM4C_CABLE = 'test_lm3s.py --only cable', 'test_tm4c.py --only cable'

LOST = (
    (SERIAL, '\tUNIC_WRITE_ONCE(info->wire_lost, unic_to_le32(wire_lost));\n', '',
     'lm3s: the host is not told of lost frames', 'test_lm3s.py --only overrun'),
)
CLOCKS = (
    (CLOCK, '\trcc &= ~RCC_MOSCDIS;\n', '\trcc &= ~(RCC_MOSCDIS | RCC_PLL_OFF);\n',
     'lm3s: the crystal and the PLL in one write', 'test_lm3s.py --only boots'),
    (CLOCK, '\tset_rcc(rcc);\n\trcc = (rcc & ~RCC_DIV)',
     '\trcc = (rcc & ~RCC_DIV)',
     'lm3s: the PLL is powered and the divider set in one write',
     'test_lm3s.py --only boots'),
    (CLOCK, '\twait_turns(CRYSTAL_TURNS);\n', '',
     'lm3s: nobody waits for the crystal', 'test_lm3s.py --only boots'),
    (CLOCK, '\tset_rcc(rcc);\n\tif (!pll_locks()) {',
     '\tif (!pll_locks()) {',
     'lm3s: the divider is set together with the end of the bypass',
     'test_lm3s.py --only boots'),
    (CLOCK, '\traise_voltage();\n\tplain', '\tplain',
     'lm3s: the PLL of revision A2 at 2.5 V', 'test_lm3s.py --only boots'),
    (CLOCK, 'if (!pll_locks()) {', 'if (pll_locks() && false) {',
     'lm3s: the PLL is used, locked or not', 'test_lm3s.py --only pll'),
    (CLOCK, 'for (looks = 0; looks < LOCK_LOOKS; looks++)', 'for (;;)',
     'lm3s: the wait for the PLL has no bound', 'test_lm3s.py --only pll'),
    (CLOCK, 'for (looks = 0; looks < LOCK_LOOKS; looks++)',
     'for (looks = 0; looks < 1; looks++)',
     'lm3s: one look whether the PLL has locked', 'test_lm3s.py --only boots'),
    ('hal/lm3s/boot.c', '\tlm3s_use_crystal();\n', '',
     "lm3s: the boot stub's console runs from the internal oscillator",
     'test_lm3s.py --only boots'),
    (LM3S, 'hz / 16 < BAUD ? SLOW_BAUD : BAUD', 'BAUD',
     'lm3s: the line at 921,600 baud without a PLL', 'test_lm3s.py --only pll'),
)

RECEIVE = (
    (ENET, '\t\tif (*enet_reg(net, MACRIS) & INT_FOV) {\n'
     '\t\t\tend_overrun(net);\n\t\t\treturn;\n\t\t}\n', '',
     'stellaris: nobody looks whether the FIFO overran',
     'test_lm3s.py --only overrun'),
    (ENET, '\treset_fifo(net);\n\t*enet_reg(net, MACRIS) = INT_FOV;',
     '\t*enet_reg(net, MACRIS) = INT_FOV;',
     'stellaris: the FIFO is not reset after an overrun',
     'test_lm3s.py --only overrun'),
    (ENET, '\t*enet_reg(net, MACRCTL) = RCTL_BAD;\n', '',
     'stellaris: the FIFO is reset with the receiver on',
     'test_lm3s.py --only overrun'),
    (ENET, '\t*enet_reg(net, MACRCTL) = RCTL_BAD | RCTL_ON;\n', '',
     'stellaris: the receiver stays off after a reset of its FIFO',
     'test_lm3s.py --only overrun'),
    (ENET, '\tfetch_frames(net);\n\tsend_frames(net);',
     '\tsend_frames(net);',
     'stellaris: frames are not fetched in the interrupt',
     'test_lm3s.py --only frames'),
    (ENET, '\tif (why & INT_RXER) {', '\tif (false) {',
     'stellaris: spoiled frames are not counted',
     'test_lm3s.py --only half_duplex'),
)

SEND = (
    (ENET, '\t\tmask |= INT_TXEMP;\n', '\t\tmask |= 0;\n',
     'stellaris: a second frame waits for the next work',
     'test_lm3s.py --only two_frames'),
    (ENET, '\twhile (net->tx[net->tx_first].len &&\n'
     '\t       !(*enet_reg(net, MACTR) & TR_NEW)) {',
     '\twhile (net->tx[net->tx_first].len) {',
     'stellaris: a frame is written while one is being sent',
     'test_lm3s.py --only two_frames'),
    (ENET, 'else if (!mr1 || read_phy(net, MR18) & MR18_FULL)', 'else if (true)',
     'stellaris: full duplex, whatever was negotiated',
     'test_lm3s.py --only half_duplex'),
    (ENET, '!mr1 || read_phy(net, MR18) & MR18_FULL', 'false',
     'stellaris: half duplex, whatever was negotiated',
     'test_lm3s.py --only frames'),
    (ENET, 'net->up ? len : 0', 'len',
     'stellaris: frames are sent without a link', 'test_lm3s.py --only no_partner'),
    (ENET, '!mr1 || mr1 & MR1_LINK;', 'true;',
     'stellaris: the link is always up', 'test_lm3s.py --only no_partner'),
    (ENET, '\tif (!net->up && net->hold)\n\t\treturn NULL;\n', '',
     'stellaris: first sends do not wait for the link',
     'test_lm3s.py --only first_sends'),
    (ENET, '\tnet->hold = HOLD_BEATS;\n\t(void)', '\t(void)',
     'stellaris: no frame waits for the first link',
     'test_lm3s.py --only first_sends'),
    (LM3S, 'hz == LM3S_PLL_HZ ? BEAT_SHIFT : SLOW_BEAT_SHIFT;', 'BEAT_SHIFT;',
     'lm3s: without the PLL frames wait six times as long for a link',
     'test_lm3s.py --only slow_hold'),
    (ENET, 'hz / 2 / MDC_HZ;', '0;',
     'stellaris: the clock of the PHY is too fast',
     'test_lm3s.py --only no_link'),
)

HANGS = (
    (WATCHDOG, '_CTL) = 3;', '_CTL) = 0;', 'watchdog: not started',
     ('test_lm3s.py --only hang', 'test_tm4c.py --only resets')),
    (LM3S, '\tif (port->late)\n\t\tcrash_hung();\n', '',
     'lm3s: its interrupt feeds the watchdog', 'test_lm3s.py --only hang'),
    ('hal/tm4c/port.c', '\tif (port->late)\n\t\tcrash_hung();\n', '',
     'tm4c: its interrupt feeds the watchdog', 'test_tm4c.py --only resets'),
    (LM3S, '\tport->late = false;\n\tstellaris_watchdog_feed(LM3S_WATCHDOG);\n',
     '', 'lm3s: nobody feeds the watchdog',
     'test_lm3s.py --only no_link'),
    (LM3S, '\ttell_reset(port);\n', '', 'lm3s: the cause of a reset is not told',
     'test_lm3s.py --only hang'),
    (LM3S, '\tCORTEXM_REG(LM3S_RESC) = 0;\n', '',
     'lm3s: the cause of a reset is not cleared', 'test_lm3s.py --only hang'),
)

FLASHING = (
    (FLASH, 'self.run("reset halt", *self', 'self.run("halt", *self',
     'flash.py: a running firmware is halted, not reset',
     'test_flash.py --quick'),
    (FLASH, 'self.run("reset halt", "reset run")', 'self.run("reset run")',
     'flash.py: the chip is reset at a breakpoint, and halts again',
     'test_flash.py --quick'),
    (FLASH, '    again = board.matches(', '    again = [True] * 9 or board.matches(',
     'flash.py: slots are read once', 'test_choose.py 1'),
    (SLOTS, 'Seen(record.number, zlib.crc32(image) == record.crc)',
     'Seen(record.number, True)',
     'flash.py: records are trusted', 'test_choose.py 1'),
    (SLOTS, '    slot = other(kept) if kept else "a"\n',
     '    slot = kept or "a"\n',
     'flash.py: the slot that boots is written', 'test_choose.py 1'),
    (SLOTS, '    always = [s for s in SLOTS if all(r[s].good for r in readings)]',
     '    always = [s for s in SLOTS if any(r[s].good for r in readings)]',
     'flash.py: a slot is relied on that was good once', 'test_choose.py 1'),
    (SLOTS, '        kept = latest_slot(always, readings)\n',
     '        kept = latest_slot(SLOTS, readings)\n',
     'flash.py: the newer slot is kept, damaged or not', 'test_choose.py 1'),
    (SLOTS, '    if not anyway:\n', '    if False:\n',
     'flash.py: two doubtful slots are not refused', 'test_choose.py 1'),
    (SLOTS, '0 < (number - than & 0xffffffff) < 1 << 31', 'number > than',
     'flash.py: numbers of updates do not wrap', 'test_choose.py 1'),
)

PORTS = (
    (TTY, '\tcfmakeraw(t);\n', '', 'unicd: the terminal is not raw', 'test_tty'),
    (TTY, '!memcmp(to, DEV, sizeof(to)) && ', '',
     'unicd: looks at files that are no terminals', 'test_tty'),
    (TTY, '(IXOFF | IXANY | INPCK | IGNPAR)', '(INPCK | IGNPAR)',
     'unicd: flow control by bytes stays', 'test_tty'),
    (TTY, '(CSTOPB | CRTSCTS | HUPCL | PARODD)', '(HUPCL | PARODD)',
     'unicd: a second stop bit and flow control by wires stay', 'test_tty'),
    (TTY, '\treturn ioctl(fd, TIOCEXCL) ? -errno : 0;', '\treturn 0;',
     'unicd: others may open its terminal', 'test_tty'),
    (TTY, '\tif (flock(fd, LOCK_EX | LOCK_NB))\n', '\tif (false)\n',
     'unicd: its terminal has no lock', 'test_tty.py in_use'),
    (TTY, '\tshorten_latency(fd);\n', '',
     'unicd: its terminal has no low latency', 'test_tty'),
    (TTY, '\t(void)ioctl(fd, TIOCNXCL);\n', '',
     'unicd: its terminal stays locked', 'test_tty'),
    (CONSOLE, '        if port and port.board():\n', '        if False:\n',
     'console.py: the link is opened', 'test_console.py'),
    (CONSOLE, '    free = [p for p in found if not p.board()]',
     '    free = found',
     'console.py: the link is chosen', 'test_console.py'),
    (CONSOLE, '        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n'
     '        fcntl.ioctl(fd, termios.TIOCEXCL)\n', '',
     'console.py: a terminal for two', 'test_console.py'),
)

CHIPS = (
    (CHIP, '\t*sys_reg(MEMTIM0) = memtim;\n\t*sys_reg(RSCLKCFG) = source | CLK_MEMTIMU;',
     '\t*sys_reg(RSCLKCFG) = source | CLK_MEMTIMU;\n\t*sys_reg(MEMTIM0) = memtim;',
     'tm4c: the timing of the flash after the clock', 'test_tm4c.py --only boots'),
    (CHIP, 'source | CLK_MEMTIMU;', 'source;',
     'tm4c: the timing of the flash is not taken over',
     'test_tm4c.py --only boots'),
    (CHIP, '\tfor (i = 0; i < LOOKS; i++)\n'
     '\t\tif ((*sys_reg(READY(kind)) & devices) == devices)\n'
     '\t\t\treturn true;\n\treturn false;', '\t(void)i;\n\treturn true;',
     'tm4c: a device is used before it is ready', 'test_tm4c.py --only boots'),
    (CHIP, '\treturn await_sys(PLLSTAT, PLL_LOCKED);', '\treturn true;',
     'tm4c: the PLL is used before it has locked', 'test_tm4c.py --only boots'),
    (CHIP, '\treturn await_sys(RIS, RIS_MOSC);', '\treturn true;',
     'tm4c: the crystal is used before it is stable',
     'test_tm4c.py --only boots'),
    (CHIP, 'PLL_N_Q (4u | 1u << 8)', 'PLL_N_Q (4u)',
     'tm4c: the PLL is divided by 1', 'test_tm4c.py --only boots'),
)

DMA = (
    (EMAC, '\tbool is_reset = reset_emac(emac);\n\n\tmake_rings(emac);\n',
     '\tbool is_reset = (make_rings(emac), reset_emac(emac));\n\n',
     'emac: its rings are made while it owns them',
     'test_tm4c.py --only underflow'),
    (EMAC, '\td->sizes = len;\n\tfinish_writes();\n'
     '\td->status = DESC_OWN | TX_WHOLE | TX_CHAINED;\n',
     '\td->status = DESC_OWN | TX_WHOLE | TX_CHAINED;\n'
     '\tfinish_writes();\n\td->sizes = len;\n',
     'emac: a frame is its own before its length is there',
     'test_tm4c.py --only frames'),
    (EMAC, '\t*emac_reg(emac, TXPOLLD) = 1;\n', '',
     'emac: it is not told of frames', 'test_tm4c.py --only frames'),
    (EMAC, '#define INT_ALARMS   (INT_BUS | ', '#define INT_ALARMS   (',
     'emac: errors of its bus are no alarm', 'test_tm4c.py --only bus_error'),
    (EMAC, '\t\tcfg |= CFG_100;\n', '\t\t;\n', 'emac: 10 Mbit/s, whatever was negotiated',
     'test_tm4c.py --only frames'),
    (EMAC, '\tif (state & EMAC_LINK_FULL)\n', '\tif (state)\n',
     'emac: full duplex, whatever was negotiated', 'test_tm4c.py --only ten'),
    (EMAC, '\t*emac_reg(emac, DMABUSMOD) = BUSMOD_RESET;\n\tfor (looks',
     '\tfor (looks', 'emac: it is not reset', 'test_tm4c.py --only bus_error'),
    (PHY, '\treturn hz < 100000000u ? MII_60_100 : MII_100_150;',
     '\treturn MII_20_35;', 'emac: the clock of the PHY is too fast',
     'test_tm4c.py --only frames'),
)

KEPT = (
    (SERIAL, 'if (kept.check != kept_check())', 'if (false)',
     'serial: a crash record that lost a bit is told',
     ('test_lm3s.py --only faded', 'test_tm4c.py --only faded')),
    (SERIAL, 'offsetof(__typeof__(kept), check));', '0);',
     'serial: the checksum of what is kept covers nothing',
     'test_lm3s.py --only faded'),
    (SERIAL, '\tkept.told = false;\n\tkept.check = kept_check();\n\tif (port',
     '\tkept.told = false;\n\tif (port',
     'serial: a crash record has no checksum',
     ('test_lm3s.py --only crash', 'test_tm4c.py --only crash')),
    (LM3S, '\tpl011_drain(LM3S_UART1);\n', '',
     'lm3s: a reset cuts what the console says', 'test_lm3s.py --only cut_crash'),
    (PORT_TM4C, '\tpl011_drain(TM4C_CONSOLE); /* a reset may follow */\n', '',
     'tm4c: a reset cuts what the console says', 'test_tm4c.py --only cut_crash'),
    ('hal/lm3s/boot.c', '\tpl011_drain(LM3S_UART1);\n', '',
     'boot stub: the image cuts what it says', 'test_lm3s.py --only cut_boot'),
    ('hal/tm4c/boot.c', '\tpl011_drain(TM4C_CONSOLE);\n', '',
     'tm4c: the image cuts what the boot stub says',
     'test_tm4c.py --only cut_boot'),
    (UART, 'if (!(PL011_REG(base, PL011_FR) & PL011_FR_BUSY))',
     'if (PL011_REG(base, PL011_FR) & 1u << 7)',
     'pl011: the last byte is not waited for',
     ('test_lm3s.py --only cut_crash', 'test_tm4c.py --only cut_crash')),
    (LM3S, '\tCORTEXM_REG(LM3S_PBORCTL) |= PBORCTL_RESET;\n', '',
     'lm3s: low voltage does not reset', 'test_lm3s.py --only vdd'),
)

LINK = (
    (ENET, '\tif (!up)\n\t\tnet->hold = HOLD_BEATS;\n\telse if', '\tif (!up)\n\t\t;\n\telse if',
     'stellaris: no frame waits for a link that was lost', LM3S_CABLE),
    (ENET, '\tnet->up = up;\n', '\tnet->up |= up;\n',
     'stellaris: the link is never lost', LM3S_CABLE),
    (EMAC, '\t\temac->hold = 0;\n\telse if', '\t\temac->hold = HOLD_LOOKS;\n\telse if',
     'emac: no frame waits for a link that was lost', TM4C_CABLE),
    (PHY, '\tlink->state = (uint8_t)state;\n', '\tlink->state |= (uint8_t)state;\n',
     'emac: the link is never lost', TM4C_CABLE),
    (SERIAL, '\tUNIC_WRITE_ONCE(info->link_up, up);\n', '',
     'serial: the host does not hear of the link', (LM3S_CABLE, TM4C_CABLE)),
    (CHIP, '\tif (!reset_device(PHYS))\n\t\treturn false;\n', '',
     'tm4c: the PHY does not read what it is to do', 'test_tm4c.py --only frames'),
)

LINE = (
    (LINE_C, '\t\tline->overruns += !!(byte & PL011_DR_OE);\n', '',
     'line: overruns are not counted', 'test_lm3s.py --only lost_bytes'),
    (LINE_C, '\t\tline->framing += !!(byte & PL011_DR_FE);\n', '',
     'line: bytes without a stop bit are not counted',
     'test_lm3s.py --only wrong_baud'),
    (UART, '#define PL011_IFLS_USE 0x11u', '#define PL011_IFLS_USE 0x21u',
     'pl011: 14 bytes wait for the handler', 'test_lm3s.py --only level'),
)

LIMITS = (
    (ENET, 'all > FIFO_BYTES', 'false', 'stellaris: a length has no upper bound',
     'test_lm3s.py --only lengths'),
    (ENET, 'all < LEAST_BYTES || ', '', 'stellaris: a length has no lower bound',
     'test_lm3s.py --only lengths'),
    (ENET, 'if (got < STELLARIS_ENET_PLACE)', 'if (true)',
     'stellaris: a long frame leaves its place', 'test_lm3s.py --only long_frames'),
    (ENET, '= RCTL_BAD | RCTL_ON;', '= RCTL_ON;',
     'stellaris: frames with a wrong FCS come in', 'test_lm3s.py --only spoiled'),
    (EMAC, '\tfinish_writes();\n\t*emac_reg(emac, RXPOLLD) = 1;\n', '\tfinish_writes();\n',
     'emac: it is not told of buffers', 'test_tm4c.py --only missed'),
    (EMAC, '(missed & 0xffff) + (missed >> 17 & 0x7ff)', '(missed >> 17 & 0x7ff)',
     'emac: frames without a buffer are not counted',
     'test_tm4c.py --only missed'),
)

MUTATIONS = (LOST + CLOCKS + RECEIVE + SEND + HANGS + FLASHING + PORTS + CHIPS + DMA + KEPT +
             LINK + LINE + LIMITS)
