package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"dumptool/internal/tensor"
)

const (
	magic      = "\x93NUMPY"
	alignment  = 64      // of the data in the file
	growDigits = 21      // decimal digits that numpy leaves to the first dimension
	maxHeader  = 1 << 20 // bytes of header text; numpy.load itself stops at 10000
)

// AppendHeader appends the header that numpy.save writes for a C-order array:
// format 1.0, or 2.0 when the header text is longer than 65535 bytes. The data
// that follows starts at a multiple of 64 bytes after the header's first byte.
func AppendHeader(dst []byte, host tensor.Host, shape tensor.Shape) ([]byte, error) {
	if host.Size() == 0 {
		return nil, fmt.Errorf("npy: host element type %d cannot be written", host)
	}
	if count, ok := shape.Count(); !ok || count > maxInt64/int64(host.Size()) {
		return nil, fmt.Errorf("npy: %v is not the shape of an array of %v", shape, host)
	}
	text := headerText(host, shape)
	version, length := byte(1), 2
	if padded(text, length) > math.MaxUint16 {
		version, length = 2, 4
	}
	size := padded(text, length)
	if size > maxHeader {
		return nil, fmt.Errorf("npy: a shape of %d dimensions is too long for a header", len(shape))
	}
	dst = append(append(dst, magic...), version, 0)
	if version == 1 {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(size))
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
	}
	dst = append(dst, text...)
	dst = append(dst, strings.Repeat(" ", size-len(text)-1)...)
	return append(dst, '\n'), nil
}

// HeaderSize returns the number of bytes that AppendHeader appends.
func HeaderSize(host tensor.Host, shape tensor.Shape) (int64, error) {
	header, err := AppendHeader(nil, host, shape)
	return int64(len(header)), err
}

// headerText returns the dict of the header and the room for the first
// dimension to grow.
func headerText(host tensor.Host, shape tensor.Shape) string {
	room := 0
	if len(shape) > 0 {
		room = growDigits - len(strconv.FormatInt(shape[0], 10))
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %v, }%*s",
		host.Descr(), shape, room, "")
}

// padded returns the length of the text after 1 to 64 spaces and a newline, for
// a length field of that many bytes.
func padded(text string, lengthField int) int {
	start := len(magic) + 2 + lengthField
	end := start + len(text) + 1
	return end + alignment - end%alignment - start
}
