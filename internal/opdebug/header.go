package opdebug

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Magic is the first 32-bit word of a new layout record.
const Magic = 0x5A5A5A5A

// headerSize is the size of the new layout's header: six 32-bit words.
const headerSize = 24

// Header is the header of a new layout record, in file order and raw.
type Header struct {
	Magic   uint32
	Version uint32 // 0 and 1 are known
	Valid   uint32 // 1: the entry is valid
	AccType uint32 // 0 AIC, 1 AIV, 2 AICPU, 3 SDMA
	Rsv     uint32 // reserved
	DataLen uint32 // bytes after the header
}

// headerField is one word of the header.
type headerField struct {
	name string
	ref  func(*Header) *uint32
}

// headerFields lists the header in file order. In the JSON form the first two
// stand at the top and the others in acc_list.
var headerFields = [...]headerField{
	{"magic", func(h *Header) *uint32 { return &h.Magic }},
	{"version", func(h *Header) *uint32 { return &h.Version }},
	{"valid", func(h *Header) *uint32 { return &h.Valid }},
	{accType, func(h *Header) *uint32 { return &h.AccType }},
	{"rsv", func(h *Header) *uint32 { return &h.Rsv }},
	{"data_len", func(h *Header) *uint32 { return &h.DataLen }},
}

// accType is the header field that the JSON form shows as a name.
const accType = "acc_type"

// entryFields are the header fields that belong to the entry.
var entryFields = headerFields[2:]

// parseHeader reads a header; payload holds at least headerSize bytes.
func parseHeader(payload []byte) Header {
	var h Header
	for i, f := range headerFields {
		*f.ref(&h) = binary.LittleEndian.Uint32(payload[4*i:])
	}
	return h
}

// unit returns the unit that acc_type names.
func (h *Header) unit() (Unit, error) {
	if h.AccType > uint32(SDMA-AIC) {
		return 0, &AccTypeError{Header: *h}
	}
	return AIC + Unit(h.AccType), nil
}

// layout chooses the layout of the entry: data_len decides when it is one of
// the unit's known sizes, else the version.
func (h *Header) layout(unit Unit) *layout {
	for i := range layouts {
		if l := &layouts[i]; l.unit == unit && int64(l.dataLen()) == int64(h.DataLen) {
			return l
		}
	}
	return versionLayout(unit, h.Version)
}

// versionLayout returns the layout that a version of the record uses.
func versionLayout(unit Unit, version uint32) *layout {
	if version == 1 {
		return findLayout(unit, 4)
	}
	return findLayout(unit, 1)
}

// end returns the offset at which the entry ends by its own account.
func (h *Header) end() int {
	return int(min(headerSize+int64(h.DataLen), math.MaxInt))
}

// warnings lists what is unusual in a header whose entry was read with l.
func (h *Header) warnings(l *layout) []string {
	var out []string
	if h.Valid != 1 {
		out = append(out, fmt.Sprintf("valid is %d, wanted 1: the entry does not count as an overflow", h.Valid))
	}
	if h.Rsv != 0 {
		out = append(out, fmt.Sprintf("reserved field rsv is %d, wanted 0", h.Rsv))
	}
	known := h.Version <= 1
	if !known {
		out = append(out, fmt.Sprintf("version %d is not known, wanted 0 or 1: status words read: %d",
			h.Version, l.statusWords()))
	}
	usual := versionLayout(l.unit, h.Version)
	if int64(h.DataLen) != int64(l.dataLen()) || known && l != usual {
		out = append(out, fmt.Sprintf("data_len is %d, %v of version %d has %d: read as %d bytes",
			h.DataLen, l.unit, h.Version, usual.dataLen(), l.dataLen()))
	}
	return out
}
