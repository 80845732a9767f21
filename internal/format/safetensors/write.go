package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"dumptool/internal/tensor"
)

// alignment is the multiple of bytes at which the data begins.
const alignment = 8

// Entry describes a tensor that is to be written.
type Entry struct {
	Name  string
	DType tensor.DType
	Shape tensor.Shape
}

// TypeName returns the name of an element type in files; ok is false for one that
// the format does not have.
func TypeName(d tensor.DType) (name string, ok bool) {
	for name, dtype := range dtypes {
		if dtype == d {
			return name, true
		}
	}
	return "", false
}

// Check reports a tensor that cannot be written.
func Check(e Entry) error {
	if e.Name == keyMetadata {
		return fmt.Errorf("%s is the name of the metadata of safetensors", e.Name)
	}
	if _, ok := TypeName(e.DType); !ok {
		return fmt.Errorf("safetensors has no element type %v", e.DType)
	}
	if _, ok := e.size(); !ok {
		return fmt.Errorf("%v%v is too large for safetensors", e.DType, e.Shape)
	}
	return nil
}

// size is how many bytes the elements take.
func (e *Entry) size() (size int64, ok bool) {
	count, ok := e.Shape.Count()
	if !ok {
		return 0, false
	}
	return e.DType.Bytes(count)
}

// Sort brings tensors into the order in which their data is written, that of the
// format's own library: larger elements first, so that all are aligned, then by
// name.
func Sort(entries []Entry) {
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.DType.Bits(), a.DType.Bits()), cmp.Compare(a.Name, b.Name))
	})
}

// AppendHeader appends the beginning of a file, up to the data of the first tensor.
// The elements of the tensors follow in their order, little-endian, in C order and
// without gaps. The header is padded with spaces, so that the data begins at a
// multiple of 8 bytes.
func AppendHeader(dst []byte, entries []Entry) ([]byte, error) {
	var text bytes.Buffer
	at, seen := int64(0), make(map[string]bool, len(entries))
	for i, e := range entries {
		if err := Check(e); err != nil {
			return nil, fmt.Errorf("%q: %w", e.Name, err)
		}
		dtype, _ := TypeName(e.DType)
		size, _ := e.size()
		switch {
		case at+size < at:
			return nil, fmt.Errorf("%q: %v%v is too large for safetensors", e.Name, e.DType, e.Shape)
		case seen[e.Name]:
			return nil, fmt.Errorf("%q: the name comes twice", e.Name)
		}
		seen[e.Name] = true
		text.WriteByte("{,"[min(i, 1)])
		if err := appendName(&text, e.Name); err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, `:{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}`, dtype, e.Shape.Join(","), at, at+size)
		at += size
	}
	if len(entries) == 0 {
		text.WriteByte('{')
	}
	text.WriteByte('}')
	for text.Len()%alignment != 0 {
		text.WriteByte(' ')
	}
	if text.Len() > MaxHeader {
		return nil, fmt.Errorf("a header of %d bytes for %d tensors, safetensors has at most %d", text.Len(), len(entries), MaxHeader)
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(text.Len()))
	return append(dst, text.Bytes()...), nil
}

// appendName writes a name as JSON.
func appendName(text *bytes.Buffer, name string) error {
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(name); err != nil {
		return err
	}
	text.Truncate(text.Len() - 1) // the line's end
	return nil
}
