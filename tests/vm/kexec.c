/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kexec KERNEL INITRD COMMAND-LINE - go on with another kernel at once, without the
 * machine being reset, when stdin has a byte or ends. Run by vm_leave.py.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "kexec: %s: %s\n", what, strerror(errno));
	return 1;
}

int main(int argc, char **argv)
{
	int kernel, initrd;

	if (argc != 4)
		return 2;
	kernel = open(argv[1], O_RDONLY | O_CLOEXEC);
	initrd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (kernel < 0 || initrd < 0)
		return fail("files");
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(argv[3]) + 1,
		    argv[3], 0l))
		return fail("load");
	printf("loaded\n");
	fflush(stdout);
	getchar();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
		LINUX_REBOOT_CMD_KEXEC, NULL);
	return fail("reboot");
}
