# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Unit tests. Those of the core run on the host and on the target, each from
# core/<name>.c and the archive of the rig, and need no more than their name here ...
UNIT_CORE := test_account test_admission test_ahead test_anew test_arp test_ask test_atomics test_attacks test_attributes \
	test_badinput test_batch test_between test_bounce test_cache test_cached_long test_cached_window test_cmd test_cq test_cq_resize \
	test_cut test_delegate test_derived test_dma test_evict test_fastreg test_found \
	test_frames test_fuzzed test_guess test_histogram test_hostile test_icrc test_indirect \
	test_lane test_limits test_link_ring test_local_ops test_lone test_lone_count test_lone_read test_lone_receive test_loss test_meter test_miss \
	test_model test_mr test_multi test_nic test_notice test_opcodes test_order test_outstanding \
	test_pain test_parts test_physical test_policy test_port test_qp test_random test_rc test_rc_evict test_rc_token \
	test_reap test_reasons test_receives test_reclaim test_revoke test_roce \
	test_same test_sched test_sched_charge test_set test_share test_sizes test_slots test_snapshot \
	test_srq test_strays test_sweep test_table test_tlb test_token test_turns test_unrel test_use \
	test_window test_window_miss
UNIT_RIG  := $(addprefix tests/unit/,rig.c rig_kernel.c)
# What several tests begin with.
UNIT_SETS := $(addprefix tests/unit/,derived_rig.c evict_rig.c lone_rig.c pair.c rc_rig.c sched_rig.c)
LIB_rig    = $(FIRMWARE) $(FAKE) $(RING) $(UNIT_RIG) $(UNIT_SETS)

# ... the others run on the host only; here with all that they are linked from.
PARTS_test_conn       = tests/unit/host/test_conn.c libunic.a
# The trace, of a driver that the test plays.
PARTS_test_ctl_ring   = tests/unit/host/test_ctl_ring.c host_driver/tools/ctl_ring.c
PARTS_test_hog        = tests/unit/host/test_hog.c $(ARGUMENTS) libunic.a
# Accounts of the page service, over a driver that the test plays.
PARTS_test_kio_account = tests/unit/host/test_kio_account.c host_driver/kio/kio_account.c
PARTS_test_kio_files  = tests/unit/host/test_kio_files.c host_driver/unicd/kio_files.c
PARTS_test_kio_node   = tests/unit/host/test_kio_node.c $(KIO) driver.a
# ... share.c is that of the board that the simulator is compiled for.
PARTS_test_policysim  = tests/unit/host/test_policysim.c $(REPLAYED) $(filter-out %share.c,$(POLICIES)) \
	host:firmware/arbiter/share.c
LIBS_test_policysim  := -ljson-c -lcmocka
PARTS_test_recover    = tests/unit/host/test_recover.c libunic.a
PARTS_test_serial     = tests/unit/host/test_serial.c $(SERIAL) $(NEAR) $(FAR)
PARTS_test_stags      = tests/unit/host/test_stags.c rig.a
# The switch, but for its way to the link and what needs libraries.
PARTS_test_switch     = tests/unit/host/test_switch.c $(addprefix qemu/wire/,faults.c mac_table.c socket_port.c switch.c)
# Sockets get their name when somebody listens.
PARTS_test_number     = tests/unit/host/test_number.c host_driver/daemon/number.c
PARTS_test_run_dir    = tests/unit/host/test_run_dir.c host_driver/daemon/run_dir.c
WRAP_test_target_file := --for-linker=--wrap=mkostemp
WRAP_test_run_dir    := --for-linker=--wrap=listen
# A terminal whose driver the test plays.
PARTS_test_tty        = tests/unit/host/test_tty.c host_driver/serial/tty.c
WRAP_test_tty        := --for-linker=--wrap=ioctl --for-linker=--wrap=stat
# The command line of the driver.
PARTS_test_unicd_options  = tests/unit/host/test_unicd_options.c host_driver/unicd/options.c host_driver/daemon/number.c host_driver/daemon/output.c \
	$(DRIVER_RIG)
# The socket of the processes, over a core that the test plays.
UNICD_RIG := tests/unit/host/unicd_rig.c $(addprefix host_driver/,unicd/clients.c unicd/unicd_os.c \
	daemon/peer_pidfd.c daemon/run_dir.c daemon/say.c daemon/send_fds.c)
PARTS_test_unicd_clients  = tests/unit/host/test_unicd_clients.c $(UNICD_RIG)
WRAP_test_unicd_clients  := --for-linker=--wrap=getsockopt
PARTS_test_unicd_requests = tests/unit/host/test_unicd_requests.c $(UNICD_RIG)
WRAP_test_unicd_requests := --for-linker=--wrap=getsockopt
# Whose a slot is, over a core and a bus that the test plays.
PARTS_test_unicd_slots    = tests/unit/host/test_unicd_slots.c $(addprefix host_driver/,unicd/slots.c unicd/unicd_os.c \
	daemon/say.c) driver.a
# What the provider for libibverbs and the preloaded library decide by themselves.
PARTS_test_verbs      = tests/unit/host/test_verbs.c $(addprefix host_driver/verbs/,ah.c errnos.c qp_attr.c shim/channel.c \
	shim/paths.c) libunic.a
# ... and what it makes of the library, over a driver and a NIC that the test plays.
VERBS_RIG := $(addprefix tests/unit/host/,verbs_rig.c libunic_rig.c) $(addprefix host_driver/verbs/,ah.c attach.c \
	build.c completion.c cq.c cq_ex.c errnos.c events.c mr.c mw.c pd.c post.c qp.c qp_attr.c srq.c wire.c shim/channel.c) libunic.a
PARTS_test_verbs_post   = tests/unit/host/test_verbs_post.c $(VERBS_RIG)
WRAP_test_verbs_post   := --for-linker=--wrap=dlsym
PARTS_test_verbs_completion = tests/unit/host/test_verbs_completion.c $(VERBS_RIG)
WRAP_test_verbs_completion := --for-linker=--wrap=dlsym
# ... libibverbs, too.
PARTS_test_verbs_device = tests/unit/host/test_verbs_device.c host_driver/verbs/device.c $(VERBS_RIG)
WRAP_test_verbs_device := --for-linker=--wrap=dlsym
PARTS_test_verbs_events = tests/unit/host/test_verbs_events.c $(VERBS_RIG)
WRAP_test_verbs_events := --for-linker=--wrap=dlsym
PARTS_test_verbs_build  = tests/unit/host/test_verbs_build.c $(VERBS_RIG)
WRAP_test_verbs_build  := --for-linker=--wrap=dlsym
PARTS_test_verbs_extended = tests/unit/host/test_verbs_extended.c $(VERBS_RIG)
WRAP_test_verbs_extended := --for-linker=--wrap=dlsym
PARTS_test_verbs_window = tests/unit/host/test_verbs_window.c $(VERBS_RIG)
WRAP_test_verbs_window := --for-linker=--wrap=dlsym
PARTS_test_verbs_queue  = tests/unit/host/test_verbs_queue.c $(VERBS_RIG)
WRAP_test_verbs_queue  := --for-linker=--wrap=dlsym
# ... and the connection manager of the latter, over a wire that the test plays.
PARTS_test_ucma       = tests/unit/host/test_ucma.c $(UCMA) $(addprefix host_driver/verbs/shim/,ifaddrs.c paths.c)
# The name of a driver and a NIC of it.
PARTS_test_target_file = tests/unit/host/test_target_file.c host_driver/tools/target_file.c
PARTS_test_where      = tests/unit/host/test_where.c host_driver/libunic/where.c
# Each file of abi/vectors, by what the NIC, the driver and the serial link make of it.
PARTS_test_vectors    = tests/unit/host/test_vectors.c tests/unit/vector.c $(SERIAL) $(FAR) rig.a
# Client and server of the page service over two NICs ...
KIO_RIG    := tests/unit/host/kio_rig.c $(KIO_ENDS) host_driver/kio/kio_ring.c
PARTS_test_kio       = tests/unit/host/test_kio.c $(KIO_RIG) driver.a rig.a
PARTS_test_kio_peer  = tests/unit/host/test_kio_peer.c $(KIO_RIG) driver.a rig.a
PARTS_test_kio_queue = tests/unit/host/test_kio_queue.c $(KIO_RIG) driver.a rig.a
PARTS_test_kio_move  = tests/unit/host/test_kio_move.c $(KIO_RIG) driver.a rig.a
PARTS_test_kio_rdma  = tests/unit/host/test_kio_rdma.c $(KIO_RIG) driver.a rig.a
PARTS_test_kio_write = tests/unit/host/test_kio_write.c $(KIO_RIG) driver.a rig.a
# ... and the library over a driver and a NIC that the test plays.
LIBUNIC_RIG := tests/unit/host/libunic_rig.c libunic.a
PARTS_test_libunic_context = tests/unit/host/test_libunic_context.c $(LIBUNIC_RIG)
PARTS_test_libunic_data    = tests/unit/host/test_libunic_data.c $(LIBUNIC_RIG)
WRAP_test_libunic_data     := --for-linker=--wrap=mmap --for-linker=--wrap=mremap --for-linker=--wrap=open --for-linker=--wrap=calloc --for-linker=--wrap=free
PARTS_test_libunic_desc    = tests/unit/host/test_libunic_desc.c $(LIBUNIC_RIG)
PARTS_test_libunic_event   = tests/unit/host/test_libunic_event.c $(LIBUNIC_RIG)
PARTS_test_libunic_manager = tests/unit/host/test_libunic_manager.c $(LIBUNIC_RIG)
PARTS_test_libunic_mend    = tests/unit/host/test_libunic_mend.c $(LIBUNIC_RIG)
WRAP_test_libunic_mend     := --for-linker=--wrap=pthread_create
PARTS_test_libunic_memory  = tests/unit/host/test_libunic_memory.c $(LIBUNIC_RIG)
WRAP_test_libunic_memory   := --for-linker=--wrap=calloc --for-linker=--wrap=free
PARTS_test_libunic_pool    = tests/unit/host/test_libunic_pool.c $(LIBUNIC_RIG)
PARTS_test_libunic_queue   = tests/unit/host/test_libunic_queue.c $(LIBUNIC_RIG)
WRAP_test_libunic_queue    := --for-linker=--wrap=unic_db_ring
PARTS_test_libunic_region  = tests/unit/host/test_libunic_region.c $(LIBUNIC_RIG)
PARTS_test_libunic_resize  = tests/unit/host/test_libunic_resize.c $(LIBUNIC_RIG)
# The host driver over a NIC that the test plays.
DRIVER_RIG := tests/unit/driver/driver_rig.c driver.a
PARTS_test_driver_batch    = tests/unit/driver/test_driver_batch.c $(DRIVER_RIG)
PARTS_test_driver_bus      = tests/unit/driver/test_driver_bus.c $(DRIVER_RIG)
PARTS_test_driver_cm       = tests/unit/driver/test_driver_cm.c $(DRIVER_RIG)
PARTS_test_driver_cm_flood = tests/unit/driver/test_driver_cm_flood.c $(DRIVER_RIG)
PARTS_test_driver_raw      = tests/unit/driver/test_driver_raw.c $(DRIVER_RIG)
PARTS_test_driver_crossing = tests/unit/driver/test_driver_crossing.c $(DRIVER_RIG)
PARTS_test_driver_depth    = tests/unit/driver/test_driver_depth.c $(DRIVER_RIG)
PARTS_test_driver_srq      = tests/unit/driver/test_driver_srq.c $(DRIVER_RIG)
PARTS_test_driver_resize   = tests/unit/driver/test_driver_resize.c $(DRIVER_RIG)
PARTS_test_driver_derived  = tests/unit/driver/test_driver_derived.c $(DRIVER_RIG)
PARTS_test_driver_fault    = tests/unit/driver/test_driver_fault.c $(DRIVER_RIG)
PARTS_test_driver_grants   = tests/unit/driver/test_driver_grants.c $(DRIVER_RIG)
PARTS_test_driver_held     = tests/unit/driver/test_driver_held.c $(DRIVER_RIG)
PARTS_test_driver_journal  = tests/unit/driver/test_driver_journal.c $(DRIVER_RIG)
PARTS_test_driver_limit    = tests/unit/driver/test_driver_limit.c $(DRIVER_RIG)
PARTS_test_driver_loop     = tests/unit/driver/test_driver_loop.c $(DRIVER_RIG)
PARTS_test_driver_loop_wrong = tests/unit/driver/test_driver_loop_wrong.c $(DRIVER_RIG)
PARTS_test_driver_mad      = tests/unit/driver/test_driver_mad.c $(DRIVER_RIG)
PARTS_test_driver_mailbox  = tests/unit/driver/test_driver_mailbox.c $(DRIVER_RIG)
PARTS_test_driver_nics     = tests/unit/driver/test_driver_nics.c $(DRIVER_RIG)
PARTS_test_driver_notice   = tests/unit/driver/test_driver_notice.c $(DRIVER_RIG)
PARTS_test_driver_objects  = tests/unit/driver/test_driver_objects.c $(DRIVER_RIG)
PARTS_test_driver_region   = tests/unit/driver/test_driver_region.c $(DRIVER_RIG)
WRAP_test_driver_region    := --for-linker=--wrap=unic_frames_pin
PARTS_test_driver_request  = tests/unit/driver/test_driver_request.c $(DRIVER_RIG)
PARTS_test_driver_restore  = tests/unit/driver/test_driver_restore.c $(DRIVER_RIG)
PARTS_test_driver_snapshot = tests/unit/driver/test_driver_snapshot.c $(DRIVER_RIG)
PARTS_test_driver_vectors  = tests/unit/driver/test_driver_vectors.c tests/unit/vector.c $(DRIVER_RIG)
UNIT_HOST := $(sort $(patsubst PARTS_%,%,$(filter PARTS_test_%,$(.VARIABLES))))

# STags in full, of a board whose STags have parts of 16 bits; fast, without checks.
PARTS_stags      = tests/unit/host/test_stags.c rig.a
KIND_stags      := stags
LIBS_stags      := -lcmocka
# The page service beside 15 processes that hoard.
PARTS_kio-crowd       = tests/unit/host/test_kio.c $(KIO_RIG) rig.a
PARTS_kio-crowd-move  = tests/unit/host/test_kio_move.c $(KIO_RIG) rig.a
PARTS_kio-crowd-rdma  = tests/unit/host/test_kio_rdma.c $(KIO_RIG) rig.a
PARTS_kio-crowd-peer  = tests/unit/host/test_kio_peer.c $(KIO_RIG) rig.a
PARTS_kio-crowd-queue = tests/unit/host/test_kio_queue.c $(KIO_RIG) rig.a
PARTS_kio-crowd-write = tests/unit/host/test_kio_write.c $(KIO_RIG) rig.a
KIND_kio-crowd       := crowd
LIBS_kio-crowd       := -lcmocka
KIND_kio-crowd-move  := crowd
LIBS_kio-crowd-move  := -lcmocka
KIND_kio-crowd-rdma  := crowd
LIBS_kio-crowd-rdma  := -lcmocka
KIND_kio-crowd-peer  := crowd
LIBS_kio-crowd-peer  := -lcmocka
KIND_kio-crowd-queue := crowd
LIBS_kio-crowd-queue := -lcmocka
KIND_kio-crowd-write := crowd
LIBS_kio-crowd-write := -lcmocka

# What a program on the target stands on.
TARGET_ANY := tests/unit/target/target_main.c tests/unit/target/cmocka.c hal/drivers/semihost.c
TARGET_RT  := $(TARGET_ANY) tests/unit/target/start_a15.S
M3_RT      := $(TARGET_ANY) tests/unit/target/start_m3.S

INC_tests/unit = -Itests/unit -Ifirmware -Ihal/fake -Ihal/drivers -Ihal -Iboards/$(board)
INC_tests/unit/driver                = -Itests/unit -Ihost_driver/core
INC_tests/unit/host                  = -Itests/unit -Ihost_driver/libunic
INC_tests/unit/host/test_hog.c       = -Itests/unit $(addprefix -Ihost_driver/,tools libunic daemon)
INC_tests/unit/host/test_ctl_ring.c  = -Itests/unit $(addprefix -Ihost_driver/,tools libunic)
INC_tests/unit/host/test_number.c    = -Itests/unit -Ihost_driver/daemon
INC_tests/unit/host/test_target_file.c = -Itests/unit -Ihost_driver/tools
INC_tests/unit/host/kio_rig.c        = -Itests/unit -Ihost_driver/kio -Ihost_driver/core -Ifirmware -Ihal/fake -Ihal \
	-Iboards/$(board)
INC_tests/unit/host/test_kio.c        = $(INC_tests/unit/host/kio_rig.c)
INC_tests/unit/host/test_kio_peer.c   = $(INC_tests/unit/host/kio_rig.c)
INC_tests/unit/host/test_kio_queue.c  = $(INC_tests/unit/host/kio_rig.c)
INC_tests/unit/host/test_kio_move.c   = $(INC_tests/unit/host/kio_rig.c)
INC_tests/unit/host/test_kio_rdma.c   = $(INC_tests/unit/host/kio_rig.c)
INC_tests/unit/host/test_kio_write.c  = $(INC_tests/unit/host/kio_rig.c)
INC_tests/unit/host/test_kio_files.c = -Itests/unit $(addprefix -Ihost_driver/,unicd kio core)
INC_tests/unit/host/test_kio_account.c = -Itests/unit -Ihost_driver/kio -Ihost_driver/core
INC_tests/unit/host/test_kio_node.c  = -Itests/unit -Ihost_driver/kio -Ihost_driver/core
INC_tests/unit/host/test_policysim.c = -Itests/unit -Itests/eval
INC_tests/unit/host/test_serial.c    = -Itests/unit -Ihal/serial -Ihost_driver/serial -Ihal -Iboards/lm3s6965evb
INC_tests/unit/host/test_stags.c     = $(INC_tests/unit)
INC_tests/unit/host/test_switch.c    = -Itests/unit $(INC_qemu/wire)
INC_tests/unit/host/test_run_dir.c   = -Itests/unit -Ihost_driver/daemon
INC_tests/unit/host/test_tty.c       = -Itests/unit -Ihost_driver/serial
INC_tests/unit/host/test_unicd_options.c = -Itests/unit $(INC_host_driver/unicd)
INC_tests/unit/host/test_unicd_clients.c = -Itests/unit $(INC_host_driver/unicd)
INC_tests/unit/host/test_unicd_requests.c = -Itests/unit $(INC_host_driver/unicd)
INC_tests/unit/host/unicd_rig.c          = -Itests/unit $(INC_host_driver/unicd)
INC_tests/unit/host/test_unicd_slots.c   = -Itests/unit $(INC_host_driver/unicd)
INC_tests/unit/host/test_verbs.c     = -Itests/unit -Ihost_driver/verbs -Ihost_driver/libunic
INC_tests/unit/host/verbs_rig.c      = $(INC_tests/unit/host/test_verbs.c)
INC_tests/unit/host/test_verbs_post.c = $(INC_tests/unit/host/test_verbs.c)
INC_tests/unit/host/test_verbs_device.c = $(INC_tests/unit/host/test_verbs.c)
INC_tests/unit/host/test_verbs_events.c = $(INC_tests/unit/host/test_verbs.c)
INC_tests/unit/host/test_verbs_build.c = $(INC_tests/unit/host/test_verbs.c)
INC_tests/unit/host/test_verbs_extended.c = $(INC_tests/unit/host/test_verbs.c)
INC_tests/unit/host/test_verbs_window.c = $(INC_tests/unit/host/test_verbs.c)
INC_tests/unit/host/test_verbs_queue.c = $(INC_tests/unit/host/test_verbs.c)
INC_tests/unit/host/test_verbs_completion.c = $(INC_tests/unit/host/test_verbs.c)
INC_tests/unit/host/test_ucma.c      = -Itests/unit -Ihost_driver/verbs
INC_tests/unit/host/test_vectors.c   = $(INC_tests/unit) -Ihal/serial -Ihost_driver/serial
