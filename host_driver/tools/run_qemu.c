/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* run_qemu.c - see run_qemu.h. */
#define _GNU_SOURCE
#include "run_qemu.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARGS_MAX 96

/* The arguments of QEMU, which are freed together. */
struct args {
	char *of[ARGS_MAX + 1];
	unsigned int n;
};

__attribute__((format(printf, 2, 3))) static void add(struct args *a,
						      const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (a->n < ARGS_MAX && vasprintf(&a->of[a->n], format, list) >= 0)
		a->of[++a->n] = NULL;
	va_end(list);
}

static void free_args(struct args *a)
{
	while (a->n)
		free(a->of[--a->n]);
}

/* The words are those of qemu/run_nic.py (test_verbs.py: test_one_machine).
 *
 * maxcpus=2: with one possible processor, TCG makes nothing of barriers, but memory is shared
 * with the host. */
static void add_machine(struct args *a)
{
	static const char *const machine[] = { "qemu-system-arm",
					       "-M",
					       "virt,highmem=off,gic-version=2",
					       "-accel",
					       "tcg",
					       "-cpu",
					       "cortex-a15",
					       "-smp",
					       "1,maxcpus=2",
					       "-m",
					       "128M",
					       "-nodefaults",
					       "-display",
					       "none",
					       "-no-reboot",
					       "-global",
					       "virtio-mmio.force-legacy=false",
					       "-object",
					       "rng-builtin,id=rng",
					       "-device",
					       "virtio-rng-device,rng=rng" };
	size_t i;

	for (i = 0; i < sizeof(machine) / sizeof(machine[0]); i++)
		add(a, "%s", machine[i]);
}

static long member(struct json_object *bus, const char *name)
{
	return json_object_get_int64(json_object_object_get(bus, name));
}

/* The functions of the bus: the mailbox, then each slot; then the wire. */
static void add_functions(struct args *a, struct json_object *bus,
			  const char *wire)
{
	struct json_object *fds = json_object_object_get(bus, "slot_fds");
	size_t i, n = json_object_array_length(fds);

	add(a, "-chardev");
	add(a, "socket,id=bus,path=%s",
	    json_object_get_string(json_object_object_get(bus, "ivshmem")));
	add(a, "-device");
	add(a, "ivshmem-doorbell,chardev=bus,vectors=%ld,addr=1",
	    member(bus, "vectors"));
	for (i = 0; i < n; i++) {
		add(a, "-object");
		add(a,
		    "memory-backend-file,id=slot%zu,share=on,"
		    "mem-path=/proc/%ld/fd/%ld,size=%ld",
		    i, member(bus, "pid"),
		    (long)json_object_get_int64(
			    json_object_array_get_idx(fds, i)),
		    member(bus, "slot_bytes"));
		add(a, "-device");
		add(a, "ivshmem-plain,memdev=slot%zu,addr=%zx", i, i + 2);
	}
	add(a, "-chardev");
	add(a, "socket,id=link,path=%s", wire);
	add(a, "-device");
	add(a, "ivshmem-doorbell,chardev=link,vectors=1,addr=%zx", n + 2);
}

static void add_image(struct args *a, const char *image)
{
	add(a, "-serial");
	add(a, "null");
	add(a, "-kernel");
	add(a, "%s", image);
}

/* The image of this release: installed, or built beside this program. */
static int find_image(char out[RUN_PATH])
{
	static const char *const places[] = { "../share/unic/images/"
					      "unic-virt.elf",
					      "../virt/unic.elf" };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!access(run_program(places[i], out), R_OK))
			return 0;
	fprintf(stderr,
		"unic-run: %s is not there: install unic's images, or make "
		"BOARD=virt image\n",
		out);
	return -1;
}

int run_qemu_start(struct run_child *nic, const char *dir, const char *bus,
		   const char *wire)
{
	char image[RUN_PATH], path[RUN_PATH];
	struct args a = { .n = 0 };
	struct json_object *info;
	int err;

	if (find_image(image))
		return -1;
	snprintf(path, sizeof(path), "%.200s/bus.json", bus);
	info = json_object_from_file(path);
	if (!json_object_object_get_ex(info, "slot_fds", NULL)) {
		fprintf(stderr, "unic-run: %s: it says nothing of slots\n",
			path);
		json_object_put(info);
		return -1;
	}
	add_machine(&a);
	add_functions(&a, info, wire);
	add_image(&a, image);
	json_object_put(info);
	err = run_child_launch(nic, dir, "qemu-system-arm", a.of);
	free_args(&a);
	return err;
}
