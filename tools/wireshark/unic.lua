-- SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
-- What unic puts on the wire besides RoCEv2 (docs/SPEC.md, "Frames"): tagged messages and
-- vendor acknowledgements. Installed where Wireshark and tshark look for plugins.
--
--   unic.token.key == 0x0123456789abcdef     unic.vack.reason == 2     unic && _ws.expert

local unic = Proto("unic", "unic vendor opcodes")

local opcodes = {
	[0xc0] = "TOKEN first", [0xc1] = "TOKEN middle", [0xc2] = "TOKEN last",
	[0xc3] = "TOKEN only", [0xd0] = "VACK",
}
local reasons = { [1] = "EVICTED", [2] = "RETRY_AFTER", [3] = "REFUSED" }
local ends = {
	[1] = "USED", [2] = "CANCELLED", [3] = "EXPIRED", [4] = "EVICTED", [5] = "ABORTED",
	[6] = "RESET", [16] = "BAD_KEY", [17] = "TOO_LONG", [18] = "WRONG_SENDER", [19] = "BUSY",
}

local f = {
	opcode = ProtoField.uint8("unic.opcode", "Opcode", base.HEX, opcodes),
	index = ProtoField.uint32("unic.token.index", "Token"),
	key = ProtoField.uint64("unic.token.key", "Key", base.HEX),
	payload_len = ProtoField.uint32("unic.token.payload_len", "Payload length"),
	ctrl_len = ProtoField.uint32("unic.token.ctrl_len", "Control length"),
	offset = ProtoField.uint32("unic.token.offset", "Offset in the token's buffer"),
	control = ProtoField.bytes("unic.token.control", "Control part"),
	payload = ProtoField.bytes("unic.token.payload", "Payload"),
	reason = ProtoField.uint32("unic.vack.reason", "Reason", base.DEC, reasons),
	delay = ProtoField.uint32("unic.vack.delay_us", "Send again after, us"),
	why = ProtoField.uint32("unic.vack.why", "Refused, as the token was", base.DEC, ends),
}
unic.fields = f

local e = {
	evicted = ProtoExpert.new("unic.evicted", "The region was taken back",
		expert.group.RESPONSE_CODE, expert.severity.WARN),
	retry = ProtoExpert.new("unic.retry_after", "A page is not there yet",
		expert.group.RESPONSE_CODE, expert.severity.NOTE),
	refused = ProtoExpert.new("unic.refused", "The tagged message was refused",
		expert.group.RESPONSE_CODE, expert.severity.WARN),
	unknown = ProtoExpert.new("unic.unknown", "A reason that unic does not have",
		expert.group.PROTOCOL, expert.severity.WARN),
	short = ProtoExpert.new("unic.short", "The packet is shorter than its header says",
		expert.group.MALFORMED, expert.severity.ERROR),
}
unic.experts = { e.evicted, e.retry, e.refused, e.unknown, e.short }

local of_vack = { [1] = e.evicted, [2] = e.retry, [3] = e.refused }
local BTH, TKETH, EVTH, ICRC = 12, 24, 8, 4

-- The part of a packet between BTH and the pad of @pad bytes, as a range, or nil.
local function behind_bth(tvb, bth)
	local pad = bit.rshift(bit.band(tvb(bth + 1, 1):uint(), 0x30), 4)
	local bytes = tvb:len() - bth - BTH - ICRC - pad

	return bytes > 0 and tvb(bth + BTH, bytes) or nil
end

local function show_token(tree, opcode, data)
	local first = opcode == 0xc0 or opcode == 0xc3
	local at, ctrl = 0, 0

	if first then
		if not data or data:len() < TKETH then
			tree:add_proto_expert_info(e.short)
			return "TOKEN, cut short"
		end
		tree:add(f.index, data(0, 4))
		tree:add(f.key, data(4, 8))
		tree:add(f.payload_len, data(12, 4))
		tree:add(f.ctrl_len, data(16, 4))
		tree:add(f.offset, data(20, 4))
		ctrl = data(16, 4):uint()
		at = TKETH
		if ctrl > data:len() - at then
			tree:add_proto_expert_info(e.short)
			ctrl = data:len() - at
		end
		if ctrl > 0 then
			tree:add(f.control, data(at, ctrl))
		end
	end
	if data and data:len() > at + ctrl then
		tree:add(f.payload, data(at + ctrl))
	end
	if not first then
		return opcodes[opcode]
	end
	return string.format("%s to token %u, %u + %u bytes", opcodes[opcode], data(0, 4):uint(),
		ctrl, data(12, 4):uint())
end

local function show_vack(tree, data)
	if not data or data:len() < EVTH then
		tree:add_proto_expert_info(e.short)
		return "VACK, cut short"
	end
	local reason, number = data(0, 4):uint(), data(4, 4):uint()

	tree:add(f.reason, data(0, 4))
	tree:add_proto_expert_info(of_vack[reason] or e.unknown)
	if reason == 2 then
		tree:add(f.delay, data(4, 4))
		return string.format("VACK: RETRY_AFTER %u us", number)
	elseif reason == 3 then
		tree:add(f.why, data(4, 4))
		return "VACK: REFUSED, " .. (ends[number] or tostring(number))
	end
	return "VACK: " .. (reasons[reason] or tostring(reason))
end

local bth_opcode = Field.new("infiniband.bth.opcode")

-- Wireshark has taken BTH and what is before it apart, and shows the rest as bytes.
function unic.dissector(tvb, pinfo, root)
	local found = bth_opcode()
	local opcode = found and found.value

	if not opcodes[opcode] then
		return
	end
	local bth = found.offset
	local tree = root:add(unic, tvb(bth), "unic, " .. opcodes[opcode])
	local data = behind_bth(tvb, bth)

	tree:add(f.opcode, tvb(bth, 1))
	pinfo.cols.info = opcode == 0xd0 and show_vack(tree, data) or show_token(tree, opcode, data)
	pinfo.cols.protocol = "unic"
end

register_postdissector(unic)

-- Wireshark tries protocols on the payload of a message (SDP, RPC over RDMA), and finds most
-- of them malformed. Here a payload is what a program wrote to memory.
local payload = Proto("unic_payload", "Payload of RDMA")
payload.prefs.plain = Pref.bool("Show payloads as bytes", true,
	"Off: let Wireshark guess, for traffic of NFS or SDP")
payload.fields = { ProtoField.bytes("unic_payload.data", "Payload") }

function payload.dissector(tvb, _, root)
	root:add(payload, tvb()):add(payload.fields[1], tvb())
end

payload:register_heuristic("infiniband.payload", function(tvb, pinfo, root)
	if not payload.prefs.plain then
		return false
	end
	payload.dissector(tvb, pinfo, root)
	return true
end)
