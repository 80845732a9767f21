package dumptest

import (
	"encoding/binary"

	"dumptool/internal/opdebug"
)

// EncodeRecord writes an overflow record as a payload of r.Size bytes, of opdebug.BufferSize bytes
// when Size is 0, and in any case of so many that all fields fit. The header
// is written as it is, so data_len should be that of the area.
//
// What Parse has read, EncodeRecord writes back byte for byte.
func EncodeRecord(r *opdebug.Record) []byte {
	payload := make([]byte, payloadSize(r))
	for _, s := range r.Undecoded {
		copy(payload[s.Offset:], s.Data)
	}
	if h := &r.Header; r.Generation == opdebug.NewLayout {
		for i, v := range []uint32{h.Magic, h.Version, h.Valid, h.AccType, h.Rsv, h.DataLen} {
			binary.LittleEndian.PutUint32(payload[4*i:], v)
		}
	}
	for i := range r.Areas {
		for _, f := range r.Areas[i].Fields() {
			for j, v := range f.Values {
				binary.LittleEndian.PutUint64(payload[f.Offset+8*j:], v)
			}
		}
	}
	return payload
}

// payloadSize returns the number of bytes that EncodeRecord writes.
func payloadSize(r *opdebug.Record) int {
	size := r.Size
	if size == 0 {
		size = opdebug.BufferSize
	}
	if r.Generation == opdebug.NewLayout {
		size = max(size, 24) // its header
	}
	for i := range r.Areas {
		for _, f := range r.Areas[i].Fields() {
			size = max(size, f.Offset+8*len(f.Values))
		}
	}
	for _, s := range r.Undecoded {
		size = max(size, s.Offset+len(s.Data))
	}
	return size
}
