package opdebug

import "encoding/binary"

// Encode writes a record as a payload of r.Size bytes, of BufferSize bytes
// when Size is 0, and in any case of so many that all fields fit. The header
// is written as it is, so data_len should be that of the area.
//
// What Parse has read, Encode writes back byte for byte.
func Encode(r *Record) []byte {
	payload := make([]byte, payloadSize(r))
	for _, s := range r.Undecoded {
		copy(payload[s.Offset:], s.Data)
	}
	if r.Generation == NewLayout {
		r.Header.put(payload)
	}
	for i := range r.Areas {
		for _, f := range r.Areas[i].Fields() {
			for j, v := range f.Values {
				binary.LittleEndian.PutUint64(payload[f.Offset+j*wordSize:], v)
			}
		}
	}
	return payload
}

// payloadSize returns the number of bytes that Encode writes.
func payloadSize(r *Record) int {
	size := r.Size
	if size == 0 {
		size = BufferSize
	}
	if r.Generation == NewLayout {
		size = max(size, headerSize)
	}
	for i := range r.Areas {
		if l := areaLayout(&r.Areas[i]); l != nil {
			size = max(size, l.end())
		}
	}
	for _, s := range r.Undecoded {
		size = max(size, s.Offset+len(s.Data))
	}
	return size
}
