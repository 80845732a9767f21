package tensorfile

import (
	"fmt"

	"dumptool/internal/filename"
	"dumptool/internal/guard"
	"dumptool/internal/opdebug"
	"dumptool/internal/tensor"
)

// maxRecord is how many bytes of an overflow record are read; the device's
// buffer has 2048.
const maxRecord = 1 << 20

// IsRecord reports whether the outputs of the file are overflow records: its
// header says so, or name, the one that the file goes by.
func (f *File) IsRecord(name string) bool {
	n := filename.Parse(name)
	return f.Op != nil && (f.Op.dump.IsOpDebug() || n.IsOpDebug())
}

// Lone returns the only tensor of a file that may be a record, whatever its names
// say; nil if there are others, or if it cannot be one.
func (f *File) Lone() *Tensor {
	if t := f.Tensors; len(t) == 1 && t[0].Kind == tensor.Output && t[0].DType == tensor.Uint8 {
		return &t[0]
	}
	return nil
}

// HoldsRecord reports whether the only tensor of a file is a record of the new
// layout by its content.
func (f *File) HoldsRecord() bool {
	t := f.Lone()
	if t == nil {
		return false
	}
	r, err := t.Record()
	return err == nil && r.Generation == opdebug.NewLayout && len(r.Undecoded) == 0
}

// Record reads the overflow record that an output of an OpDebug file holds. The
// error is one of package opdebug, or of reading.
func (t *Tensor) Record() (r *opdebug.Record, err error) {
	err = guard.Do(func() error {
		payload, err := t.Payload()
		if err == nil {
			r, err = opdebug.Parse(payload)
		}
		return err
	})
	return r, err
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
