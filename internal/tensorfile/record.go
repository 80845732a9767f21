package tensorfile

import (
	"fmt"

	"dumptool/internal/opdebug"
)

// maxRecord is how many bytes of an overflow record are read; the device's
// buffer has 2048.
const maxRecord = 1 << 20

// IsRecord reports whether the outputs of the file are overflow records: its
// header says so, or name, the one that the file goes by.
func (f *File) IsRecord(name string) bool {
	return f.Dump != nil && (f.Dump.IsOpDebug() || opdebug.IsOpDebugName(name))
}

// Record reads the overflow record that an output of an OpDebug file holds. The
// error is one of package opdebug, or of reading.
func (t *Tensor) Record() (*opdebug.Record, error) {
	payload, err := t.Payload()
	if err != nil {
		return nil, err
	}
	return opdebug.Parse(payload)
}

// Payload reads all stored bytes of a tensor that should be a record; one that
// is far too large for that is an error.
func (t *Tensor) Payload() ([]byte, error) {
	if t.Err != nil {
		return nil, t.Err
	}
	if t.Size > maxRecord {
		return nil, fmt.Errorf("the overflow record has %d bytes, want at most %d", t.Size, maxRecord)
	}
	payload := make([]byte, t.Size)
	if n, err := t.Data.ReadAt(payload, 0); n < len(payload) {
		return nil, fmt.Errorf("read %d bytes of the overflow record, want %d: %w", n, len(payload), err)
	}
	return payload, nil
}
