# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Numbers of docs/SPEC.md that the process side uses, under the names they
have there: operations and statuses of "Tables of control", rights and classes
of "Commands about memory", work requests of "Tables of the queues"."""

from enum import IntEnum, IntFlag

RECORD = 64                 # bytes of a request, a reply, an upcall
PAGE = 4096
VERSION = 1                 # of HELLO


class Op(IntEnum):
    """enum unic_ctl_op."""
    HELLO = 1
    FRAMES_ALLOC = 2
    FRAMES_FREE = 3
    PD_ALLOC = 4
    PD_FREE = 5
    MR_REG = 8
    MR_DEREG = 9
    WAIT_CANCEL = 10
    NOTICE_ANSWER = 11
    RESYNC = 12
    USAGE = 13
    MR_ADVISE = 14
    TOKEN_ALLOC = 16
    TOKEN_CANCEL = 17
    CQ_CREATE = 20
    CQ_DESTROY = 21
    QP_CREATE = 22
    QP_MODIFY = 23
    QP_DESTROY = 24
    QP_QUERY = 25
    CQ_RESIZE = 26
    LISTEN = 28
    UNLISTEN = 29
    CONNECT = 30
    ACCEPT = 31
    REJECT = 32
    DISCONNECT = 33
    CONN_QUERY = 34
    GRANT = 35
    DELEGATE = 36
    INVALIDATED = 37
    CM_CONNECT = 38
    CM_ACCEPT = 39
    CM_REJECT = 40
    CM_DISCONNECT = 41
    CM_QUERY = 42
    CM_FREE = 43
    SRQ_CREATE = 44
    SRQ_MODIFY = 45
    SRQ_DESTROY = 46
    MR_ALLOC = 48
    MR_MAKE = 49
    MR_INVAL = 50
    MR_REREG = 51
    BATCH = 52
    OWN_POLICY = 53
    CLAIM = 54
    OWN_RATE = 55
    INFO = 64
    STATS = 65
    DUMP = 66
    PS = 67
    TRACE = 68
    CRASH = 69
    USES = 70
    NICS = 71
    KIO = 72
    SELECT = 73
    FAULT = 80
    PARAMS = 81
    POLICY = 82
    EVICT = 83
    TRACE_MASK = 84
    RESET = 85
    RATE = 86
    LIMITS_OF = 87


class St(IntEnum):
    """enum unic_status and enum unic_ctl_status."""
    OK = 0
    PENDING = 1
    BAD_OPCODE = 2
    STALE_EPOCH = 3
    INVALID = 4
    NO_PROC = 5
    NO_PD = 6
    NO_MR = 7
    NO_CQ = 8
    NO_QP = 9
    NO_TOKEN = 10
    NO_WAIT = 11
    BUSY = 12
    TLB_FULL = 13
    MR_FULL = 14
    TOKEN_FULL = 15
    QP_FULL = 16
    CQ_FULL = 17
    PD_FULL = 18
    WAIT_FULL = 19
    QUOTA = 20
    TOO_LARGE = 21
    STATE = 22
    RIGHTS = 23
    BOUNDS = 24
    EVICTED = 25
    BUS = 26
    NO_ENTROPY = 27
    CANCELLED = 28
    TIMEOUT = 29
    REFUSED = 30
    FAILED = 31
    CTRL_CAP = 32
    NO_ROUTE = 33
    ELEMENT_FULL = 40
    ALIGN = 41
    NO_SRQ = 42
    SRQ_FULL = 43
    NO_HELLO = 64
    NO_SLOT = 65
    NO_NIC = 66
    RESET = 67
    NO_FRAMES = 68
    NOT_MAPPED = 69
    NOT_ALIGNED = 70
    TOO_MANY = 71
    NO_MEMORY = 72
    PERMISSION = 73
    NO_CONN = 74
    IN_USE = 75
    UNREACHABLE = 76
    REJECTED = 77
    UNSUPPORTED = 78
    NONE = 79
    REMOTE = 80
    VERSION = 81
    NO_SUCH_NIC = 82
    TOO_FAST = 83


class Up(IntEnum):
    """enum unic_upcall_type."""
    NOTICE = 1
    EVICTED = 2
    GRANTED = 3
    WAIT_ENDED = 4
    QP_ERROR = 5
    CQ_ERROR = 6
    TOKEN_END = 7
    CONN_REQUEST = 8
    ESTABLISHED = 9
    DISCONNECTED = 10
    RESET = 11
    DB_ERROR = 12
    INVALIDATE = 13
    IDLE = 14
    CM = 15
    SRQ_LIMIT = 16
    SRQ_ERROR = 17
    LAST_WQE = 18


class Rights(IntFlag):
    """enum unic_mr_rights; REMOTE is what a queue pair may grant."""
    LOCAL_WRITE = 1
    REMOTE_READ = 2
    REMOTE_WRITE = 4
    MW_BIND = 8
    REMOTE_ATOMIC = 16
    REMOTE = 6
    ALL = 7


class Class(IntEnum):
    """enum unic_mr_class."""
    RDMA = 0
    MESSAGING = 1
    CONTROL = 2


class Residency(IntEnum):
    """enum unic_residency."""
    RESIDENT = 0
    DEMAND = 1
    TABLE = 2
    PHYSICAL = 3


class Reg(IntFlag):
    """Flags of MR_REG (UNIC_CTL_REG_*)."""
    WAIT = 1
    ASYNC = 2
    RANDOM = 4


class Hello(IntFlag):
    """Flags of HELLO."""
    KEEP = 1
    RESUME = 2


class Answer(IntEnum):
    """enum unic_answer, of NOTICE_ANSWER."""
    RELEASE = 1
    OFFER = 2
    EXTEND = 3


class Refusal(IntEnum):
    """enum unic_refusal: why an OFFER or EXTEND was not taken."""
    NONE = 0
    SMALLER = 1
    NOT_YOURS = 2
    NOT_ACTIVE = 3
    SAME = 4
    WAITER = 5
    BUDGET = 6
    CLASS = 7


class Why(IntEnum):
    """enum unic_reason: of a NOTICE or EVICTED."""
    REAPER = 1
    WAITER = 2
    FAIR_SHARE = 3
    QUOTA = 4
    ADMIN = 5
    OFFERED = 6
    DEREG = 7
    EXIT = 8
    RESET = 9
    HOLDERS = 10
    UNMAPPED = 11


class Qpt(IntEnum):
    """enum unic_qp_type."""
    RC = 0
    UC = 1
    UD = 2


class Qps(IntEnum):
    """enum unic_qp_state."""
    RESET = 0
    INIT = 1
    RTR = 2
    RTS = 3
    SQE = 4
    ERR = 5


class Wr(IntEnum):
    """enum unic_wr_opcode."""
    SEND = 1
    SEND_IMM = 2
    WRITE = 3
    WRITE_IMM = 4
    READ = 5
    TOKEN = 6
    BIND_MW = 7
    LOCAL_INV = 8
    REG_MR = 9
    REG_INDIRECT = 10
    SEND_INV = 11
    COMPARE_SWAP = 12
    FETCH_ADD = 13


class WrFlag(IntFlag):
    """Flags of a work request (UNIC_WR_*)."""
    SIGNALED = 1
    SOLICITED = 2
    FENCE = 4
    INLINE = 8


class Wc(IntEnum):
    """enum unic_wc_opcode."""
    SEND = 1
    WRITE = 2
    READ = 3
    TOKEN = 4
    BIND_MW = 5
    LOCAL_INV = 6
    REG_MR = 7
    COMPARE_SWAP = 8
    FETCH_ADD = 9
    RECV = 128
    RECV_WRITE_IMM = 129
    RECV_TOKEN = 130


class Wcs(IntEnum):
    """enum unic_wc_status."""
    SUCCESS = 0
    LOC_LEN_ERR = 1
    LOC_QP_OP_ERR = 2
    LOC_PROT_ERR = 3
    WR_FLUSH_ERR = 4
    REM_INV_REQ_ERR = 5
    REM_ACCESS_ERR = 6
    REM_OP_ERR = 7
    RETRY_EXC_ERR = 8
    RNR_RETRY_EXC_ERR = 9
    EVICTED = 10
    REM_EVICTED = 11
    LOC_BUS_ERR = 12
    MW_BIND_ERR = 13
    MEM_OP_ERR = 14


class Wd(IntEnum):
    """enum unic_wc_detail."""
    NONE = 0
    STAG = 1
    PD = 2
    RIGHTS = 3
    BOUNDS = 4
    OPCODE = 5
    FLAGS = 6
    SGE = 7
    LENGTH = 8
    BUSY = 9
    STATE = 10
    ALIGN = 11
    PAGE = 12
    ADDRESS = 13


class WcFlag(IntFlag):
    """Flags of a completion record (UNIC_WC_*)."""
    WITH_IMM = 1
    SOLICITED = 2
    WITH_INV = 4
    GRH = 8


class Conn(IntEnum):
    """enum unic_ctl_conn_state."""
    CONNECTING = 1
    REQUESTED = 2
    ACCEPTED = 3
    ESTABLISHED = 4
    CLOSING = 5
    CLOSED = 6
    REJECTED = 7
    REPLIED = 8
    UNREACHABLE = 9


class Table(IntEnum):
    """enum unic_table."""
    TLB = 1
    MR = 2
    TOKEN = 3
    QP = 4
    CQ = 5
    PROC = 6
    WAIT = 7
    HISTOGRAM = 8
    ELEMENT = 16


TOKEN_MULTI = 1             # flag of TOKEN_ALLOC
FRAMES_MAX = 1024           # runs of one FRAMES_ALLOC
DB_ROWS = 64                # rows of the doorbell page
DB_FIFO = 256               # words of its FIFO
DB_SQ, DB_RQ, DB_ARM = 0, 1, 2
UPCALLS = 63                # places of the upcall ring

# enum unic_counter, in its order: the tail of STATS
COUNTERS = (
    'rx_frames', 'rx_bytes', 'tx_frames', 'tx_bytes', 'tx_no_room',
    'rx_not_ours', 'rx_short', 'rx_bad_ip', 'rx_bad_icrc', 'rx_bad_opcode',
    'rx_no_qp', 'rx_duplicate', 'rx_out_of_seq', 'rx_stale_ack',
    'rx_fault_dropped', 'tx_acks', 'tx_naks', 'tx_rnr_naks', 'tx_vacks',
    'retransmits', 'timeouts', 'access_stag', 'access_pd', 'access_rights',
    'access_bounds', 'access_evicted', 'dma_bytes', 'dma_errors', 'wqe_bad',
    'db_words', 'db_overruns', 'db_bad', 'cq_overflows', 'cq_events',
    'commands', 'commands_failed', 'mbox_bad_index', 'evt_stalls', 'mad_rx',
    'mad_rx_dropped', 'mr_registered', 'mr_denied', 'waits_queued',
    'waits_granted', 'waits_ended', 'wait_us_total', 'notices', 'notice_acks',
    'released', 'offers_taken', 'offers_refused', 'extends_taken',
    'extends_refused', 'deadlines', 'evicted_regions', 'evicted_entries',
    'evicted_busy', 'msg_evicted', 'rq_substituted', 'driver_failures',
    'tokens_allocated', 'tokens_used', 'tokens_cancelled', 'tokens_expired',
    'tokens_evicted', 'tokens_aborted', 'token_bad_key', 'token_too_long',
    'token_wrong_sender', 'token_busy', 'token_region', 'resets', 'polls',
    'sleeps', 'guess_held', 'misses', 'miss_events', 'miss_filled',
    'miss_refused', 'miss_timeouts', 'table_filled', 'cache_dropped',
    'cache_no_room', 'miss_suspended', 'miss_put_off', 'forms_made',
    'forms_invalidated', 'forms_inv_remote', 'forms_refused', 'forms_evicted',
    'rq_ahead', 'unrel_no_receive', 'unrel_too_long', 'unrel_refused',
    'uc_broken', 'uc_skipped', 'ud_bad_qkey', 'ud_no_route', 'miss_dropped',
    'miss_substituted', 'miss_bounced', 'stag_rests', 'token_ended_used',
    'token_ended_cancelled', 'token_ended_expired', 'token_ended_aborted',
)
