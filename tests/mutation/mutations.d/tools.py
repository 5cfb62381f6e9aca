# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What people type at the programs. See mutations.py."""
TARGET = "host_driver/tools/target_file.c"
NUMBER = "host_driver/daemon/number.c"
FILES = "test_target_file"
RING = "host_driver/tools/ctl_ring.c"


def tools(test):
    return f"test_tools.py --only {test}"


MUTATIONS = (
    (TARGET, "\tif (!err && S_ISDIR(st.st_mode))\n", "\tif (0)\n",
     "target: a folder is no place for a file", FILES),
    (TARGET, "\tif (err == -ENOENT && !lstat(t->path, &link))\n\t\treturn -ENOENT; /* a link to nothing */\n",
     "\t(void)link;\n", "target: replaces a link to nothing", FILES),
    (TARGET, "\telse if (!err && S_ISREG(st.st_mode))\n\t\terr = replace_regular(t, &st);\n", "",
     "target: what is there is gone before all has come", FILES),
    (TARGET, "\telse if (!err)\n\t\terr = open_in_place(t, &st);\n",
     "\telse if (!err)\n\t\terr = open_part_of(t);\n", "target: replaces a FIFO", FILES),
    (TARGET, "\tchar *real = realpath(t->path, NULL);", "\tchar *real = strdup(t->path);",
     "target: replaces a link", FILES),
    (TARGET, "\tt->mode = st->st_mode & 07777;\n", "", "target: forgets the mode", FILES),
    (TARGET, "\t\twatch_part(t->part);\n", "\t\t;\n", "target: a signal leaves a part", FILES),
    (TARGET, "\t\t    old.sa_handler == SIG_DFL)", "\t\t    1)",
     "target: nohup does not help", FILES),
    (TARGET, "\tif (t->part[0]) {\n\t\tunlink(t->part);", "\tif (t->part[0]) {",
     "target: an end without success leaves a part", FILES),
    (TARGET, "\tt->stream = !S_ISBLK(st->st_mode);\n", "",
     "target: writes a FIFO at offsets", FILES),
    ("host_driver/tools/copy_client.c", "c->job->path, c->job->name,", "c->job->path, NULL,",
     "unic-copy: get replaces whatever is there", tools("copy")),
    ("host_driver/tools/unic-hog.c", "h->answer == ANSWER_RELEASE && !h->keep_idle",
     "h->answer == ANSWER_RELEASE", "unic-hog: --keep-idle keeps nothing", "test_hog"),
    (NUMBER, "\tif (*text < '0' || *text > '9') /*", "\tif (0) /*",
     "number: signs and spaces are numbers", "test_number"),
    (NUMBER, "\tif (end[shift != 0])\n\t\treturn -EINVAL;\n", "",
     "number: what follows does not matter", "test_number"),
    (NUMBER, "\tif (v > UINT64_MAX >> shift)\n\t\treturn -ERANGE;\n", "",
     "number: a size wraps", "test_number"),
    (NUMBER, "v < min || v > max", "v < min", "number: as large as one likes", "test_number"),
    (NUMBER, "\tif (errno)\n\t\treturn -ERANGE;\n", "", "number: the largest stands for larger ones",
     "test_number"),
    ("host_driver/daemon/output.c", "\tif (!fflush(stdout) && !before)\n", "\tif (1 || before)\n",
     "output: a full disk is no error", tools("output")),
    ("host_driver/tools/copy_server.c", "\tif (access(dir, R_OK | X_OK) || !is_folder(dir))\n",
     "\tif (0 && is_folder(dir))\n", "unic-copy: serves what is not there", tools("nothing")),
    ("host_driver/libunic/mr.c", "\tif (attr->flags & ~(BASES | UNIC_MR_WAIT | UNIC_MR_ASYNC))\n",
     "\tif (0)\n", "libunic: a flag of tomorrow is ignored today", "test_libunic_region"),
    (RING, "\t\treturn r->missing++ ? ANOTHER_NIC : 0;\n", "\t\treturn 0;\n",
     "trace: waits for events of a NIC that is gone", "test_ctl_ring"),
    (RING, "\t\treturn r->missing++ ? ANOTHER_NIC : 0;\n", "\t\treturn ANOTHER_NIC;\n",
     "trace: an event that is being overwritten is another NIC's", "test_ctl_ring"),
    (RING, "\tif (memcmp(&rec[0], &r->last, sizeof(r->last)) != 0)\n\t\treturn ANOTHER_NIC;\n", "",
     "trace: the events of another NIC go on with ours", "test_ctl_ring"),
    (RING, "\t\t\tr->host_ns = 0; /* of another clock */\n", "",
     "trace: times of a NIC by the clock of another", "test_ctl_ring"),
    (RING, "\t} while (!n && next > from);", "\t} while (0);",
     "trace: stands still where events were overwritten", "test_ctl_ring"),
    ("firmware/base/trace.c", "\t\tUNIC_WRITE_ONCE(nic->trace.ring[i].seq, unic_to_le32(0));\n", "\t\t;\n",
     "trace: a NIC that starts shows what the one before it did", "test_limits"),
    ("host_driver/serial/far.c", "\tif (unic_from_le32(seq) > m->b + 1)\n", "\tif (0)\n",
     "line: events of the NIC before stay", "test_serial"),
    ("host_driver/serial/far.c", "\tif (unic_from_le32(seq) > m->b + 1)\n", "\tif (1)\n",
     "line: each event is the only one", "test_serial"),
    ("host_driver/tools/ctl_uses.c", "\tif (n >= 0 && ring->others != others) {\n", "\tif (n < 0 && ring->others != others) {\n",
     "trace: --refs has another NIC record nothing", tools("references")),
)
