# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# What programs of the host need of the boards' code; boards/*.mk have the rest.
RING   := $(addprefix hal/drivers/,link_layout.c link_ring.c)
FAKE   := hal/fake/fake_port.c
# The serial host link: what both ends have, and the NIC's end.
SERIAL := $(addprefix hal/serial/,frame.c stream.c)
NEAR   := $(addprefix hal/serial/,near.c near_out.c)

# main.c joins the core and its board.
INC_hal = -I$(<D) -Ihal/drivers -Ihal -Iboards/$(board) $(if $(filter %/main.c,$<),-Ifirmware)
# The host's tests of the near end are those of a board that has it.
INC_near = -Ihal/serial -Ihal -Iboards/$(if $(filter fake,$(board)),lm3s6965evb,$(board))
INC_hal/soft/main.c        = $(INC_hal) -Ihost_driver/daemon -Ihost_driver/libunic
INC_hal/soft/soft_attach.c = $(INC_hal) -Ihost_driver/daemon
INC_hal/serial/near.c      = $(INC_near)
INC_hal/serial/near_out.c  = $(INC_near)
