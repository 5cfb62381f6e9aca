# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Many NICs and drivers in one process, in virtual time.
SIM := $(addprefix tests/sim/,app.c app_ask.c app_atomic.c app_done.c app_form.c app_lie.c app_mem.c app_op.c \
	app_open.c app_qp.c app_token.c bounds.c conserve.c core_host.c core_nic.c forger.c \
	identity.c lives.c main.c \
	model.c once.c oracle.c os.c pins.c port.c probe.c rogue.c run.c scenario.c seed.c shrink.c sim.c \
	slots.c stags.c stand.c tap.c turns.c view.c wakes.c wild.c wire.c world.c)

# Tables of four sizes: that of the unit tests, and those of boards. Of each one
# object, of which only its entry is seen.
SIM_SIZES := small tiny mps2 virt
SIM_BOARD_small := small
SIM_BOARD_tiny  := tiny
SIM_BOARD_mps2  := mps2-an385
SIM_BOARD_virt  := virt
# $1 processes, $2 regions, $3 protection domains and requests that wait, $4 bytes of a
# process: with 8 MiB there are pages of 2 MiB
sim_model = -DPORT_SLOT_BYTES=$4u -DPORT_SLOTS=$1u -DMODEL_PROCS=$1u -DMODEL_MRS=$2u -DMODEL_PDS=$3u \
	-DMODEL_WAITS=$3u -DUNIC_SPIN_LOOKS=2u
SIM_MODEL_small := $(call sim_model,3,32,8,0x100000)
SIM_MODEL_tiny  := $(call sim_model,2,16,8,0x100000)
SIM_MODEL_mps2  := $(call sim_model,7,256,64,0x100000)
SIM_MODEL_virt  := $(call sim_model,8,256,64,0x800000)
PARTS_unic-sim  := sim/small:tests/sim/main.c $(SIM_SIZES:%=sim:%.o)

# One simulator whose branches are counted, with the tables of the unit tests.
PARTS_cov-sim   := $(SIM) rig.a driver.a
SIM_COUNTED      = $(if $(filter cov,$(kind)),-DSIM_SIZE=small -DSIM_SMALL_ONLY)

INC_tests/sim            = -Itests/sim -Ihal -Ihost_driver/core $(SIM_COUNTED)
INC_tests/sim/core_nic.c = -Itests/sim -Ifirmware -Ihal -Iboards/$(board) $(SIM_COUNTED)
