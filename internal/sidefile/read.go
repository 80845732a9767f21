// Package sidefile reads and writes the small files that lie beside the dumps of
// a run: execution orders, limits of operators and maps of names. Each is read
// whole, up to a limit of bytes; errors say where, what was found and what was
// wanted, and leave the name of the file to the caller.
package sidefile

import (
	"bytes"
	"fmt"
	"io"
)

// maxSize is how large a file may be, in bytes.
const maxSize = 64 << 20

// readAll reads all of r, without a byte order mark.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err == nil && len(data) > maxSize {
		err = fmt.Errorf("the file is larger than %d MiB", maxSize>>20)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}
