package npy

import "encoding/binary"

// move copies one element of that size from every step bytes of src to the
// given places in dst, which count in elements.
func move(dst, src []byte, places []int64, step, size int64) {
	order := binary.LittleEndian
	at := int64(0)
	switch size {
	case 1:
		for _, p := range places {
			dst[p] = src[at]
			at += step
		}
	case 2:
		for _, p := range places {
			order.PutUint16(dst[p*2:], order.Uint16(src[at:]))
			at += step
		}
	case 4:
		for _, p := range places {
			order.PutUint32(dst[p*4:], order.Uint32(src[at:]))
			at += step
		}
	case 8:
		for _, p := range places {
			order.PutUint64(dst[p*8:], order.Uint64(src[at:]))
			at += step
		}
	default:
		for _, p := range places {
			copy(dst[p*size:(p+1)*size], src[at:at+size])
			at += step
		}
	}
}
