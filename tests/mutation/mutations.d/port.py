# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""What the port of the unit tests promises about room."""
MUTATIONS = (
    ('hal/fake/fake_port.c', 'return room < n ? room : n;',
     'return n;',
     'fake port: a full path has room', 'test_port'),
    ('hal/fake/fake_port.c', '\ttake_room(port, port->run_path, n);\n',
     '',
     'fake port: a run takes no room', 'test_port'),
    ('hal/fake/fake_port.c', '\t\t\ttake_room(port, path, 1);\n',
     '',
     'fake port: a buffer takes no room', 'test_port'),
    ('hal/fake/fake_port.c', 'mac[0] & 1 ? 0 : ',
     '',
     'fake port: a group address has the path of a NIC', 'test_port'),
)
