# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# A board as its data sheet says, at the end of JTAG, UARTs and a wire.
PARTS_board-model := $(addprefix tests/board_model/,board.c board_model_main.c clock.c \
	connection.c cpu.c debug_port.c emac.c emac_mdio.c emac_ring.c emac_rx.c emac_tx.c \
	engine.c ephy.c exception.c gpio.c gptimer.c lm3s6965.c lm3s_flash.c lm3s_sysctl.c \
	mpu.c nor_flash.c nvic.c phy.c regs.c scs.c stellaris_mac.c tm4c1294.c tm4c_flash.c \
	tm4c_memtim.c tm4c_sysctl.c uart.c watchdog.c wire.c)
LIBS_board-model := -lunicorn
# Compiled by test_board_model.py and test_tm4c_rules.py, once for each rule.
PARTS_breaker.elf := tests/board_model/breaker.c
PARTS_breaker_tm4c.elf := tests/board_model/breaker_tm4c.c

# Hidden: Unicorn exports names of its own, such as cpu_reset(), and would call ours.
INC_tests/board_model = -Itests/board_model -fvisibility=hidden
