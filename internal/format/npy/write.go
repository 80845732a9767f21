package npy

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"dumptool/internal/tensor"
)

// Magic is what a .npy file begins with.
const Magic = "\x93NUMPY"

const (
	alignment  = 64      // of the data in the file
	growDigits = 21      // decimal digits that numpy leaves to the first dimension
	maxHeader  = 1 << 20 // bytes of header text that are read

	// maxRank is how many dimensions an array of numpy 2 has at most; before, it
	// was 32. A header of that many is also far below the 10,000 characters at
	// which numpy.load stops.
	maxRank = 64
)

// AppendHeader appends the header, in format 1.0, that numpy.save writes for a
// C-order array. The data that follows starts at a multiple of 64 bytes after
// the header's first byte. A shape that numpy cannot load is an error.
func AppendHeader(dst []byte, host tensor.Host, shape tensor.Shape) ([]byte, error) {
	if host.Size() == 0 {
		return nil, fmt.Errorf("npy: host element type %d cannot be written", host)
	}
	if err := checkShape(host, shape); err != nil {
		return nil, err
	}
	room := 0 // for the first dimension to grow
	if len(shape) > 0 {
		room = growDigits - len(strconv.FormatInt(shape[0], 10))
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %v, }%*s", host.Descr(), shape, room, "")
	start := len(Magic) + 4      // behind version and length
	end := start + len(text) + 1 // 1 to 64 spaces and a newline follow the text
	size := end + alignment - end%alignment - start
	dst = append(append(dst, Magic...), 1, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(size))
	dst = append(dst, text...)
	dst = append(dst, strings.Repeat(" ", size-len(text)-1)...)
	return append(dst, '\n'), nil
}

// checkShape reports a shape that numpy cannot load. The bytes that it takes
// must be below 2^63 even where a dimension of 0 makes them none.
func checkShape(host tensor.Host, shape tensor.Shape) error {
	if len(shape) > maxRank {
		return fmt.Errorf("npy: the shape has %d dimensions, numpy loads at most %d", len(shape), maxRank)
	}
	room := maxInt64 / int64(host.Size())
	for _, n := range shape {
		if n < 0 {
			return fmt.Errorf("npy: %v is not the shape of an array: dimension %d is negative", shape, n)
		}
		room /= max(1, n)
	}
	if room == 0 {
		return fmt.Errorf("npy: %v is too large for numpy: its dimensions other than 0 take more than 63 bits of %v", shape, host)
	}
	return nil
}
