package inspect

import (
	"encoding/json"
	"io"
	"path/filepath"

	"dumptool/internal/tensor"
)

// fileJSON is the JSON form of a file. The keys from "original_name" on stand
// only where there is something to tell; null means that neither the file nor
// its name tells.
type fileJSON struct {
	File         string       `json:"file"`
	Container    *string      `json:"container"`
	OpType       *string      `json:"op_type"`
	OpName       *string      `json:"op_name"`
	DumpTime     *uint64      `json:"dump_time"`
	Inputs       []tensorJSON `json:"inputs"`
	Outputs      []tensorJSON `json:"outputs"`
	OriginalName string       `json:"original_name,omitempty"`
	Buffers      []blobJSON   `json:"buffers,omitempty"`
	Spaces       []blobJSON   `json:"spaces,omitempty"`
	Warnings     []string     `json:"warnings,omitempty"`
	Error        string       `json:"error,omitempty"`
}

type tensorJSON struct {
	Index          int             `json:"index"`
	DType          string          `json:"dtype"`
	Format         string          `json:"format"`
	Shape          tensor.Shape    `json:"shape"`
	OriginalShape  tensor.Shape    `json:"original_shape"`
	Groups         int64           `json:"groups"`
	Size           int64           `json:"size"`
	OriginalFormat string          `json:"original_format,omitempty"`
	C0             int64           `json:"c0,omitempty"`
	Slice          tensor.Shape    `json:"slice,omitempty"`
	Record         json.RawMessage `json:"record,omitempty"`
	Stats          *statsJSON      `json:"stats,omitempty"`
	Error          string          `json:"error,omitempty"`
}

type blobJSON struct {
	Index int   `json:"index"`
	Type  int32 `json:"type"`
	Size  int64 `json:"size"`
}

// statsJSON has null for what is undefined: without finite values, and for
// complex elements. The others are always finite.
type statsJSON struct {
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
	Mean   *float64 `json:"mean"`
	NaN    int64    `json:"nan"`
	Inf    int64    `json:"inf"`
	PosInf int64    `json:"pos_inf"`
	NegInf int64    `json:"neg_inf"`
}

// WriteJSON writes the file as a JSON object on a line of its own.
func (f *File) WriteJSON(w io.Writer) error {
	form := fileJSON{
		File:      f.Entry.Path,
		Container: known(f.Container),
		OpType:    known(f.OpType),
		OpName:    known(f.OpName),
		DumpTime:  known(f.DumpTime),
		Inputs:    tensorsJSON(f.Inputs),
		Outputs:   tensorsJSON(f.Outputs),
		Buffers:   blobsJSON(f.Buffers),
		Spaces:    blobsJSON(f.Spaces),
		Warnings:  f.Warnings,
	}
	if f.Entry.Name != filepath.Base(f.Entry.Path) {
		form.OriginalName = f.Entry.Name
	}
	if f.Err != nil {
		form.Error = f.Err.Error()
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(form)
}

// known returns a pointer to v, nil for the zero value.
func known[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func tensorsJSON(list []Tensor) []tensorJSON {
	all := make([]tensorJSON, len(list))
	for i := range list {
		t := &list[i]
		form := tensorJSON{
			Index:         t.Index,
			DType:         t.DType.String(),
			Format:        t.Format.String(),
			Shape:         append(tensor.Shape{}, t.Shape...), // [] rather than null
			OriginalShape: append(tensor.Shape{}, t.OriginalShape...),
			Groups:        t.Groups,
			Size:          t.Size,
			C0:            t.C0,
			Slice:         t.Slice,
		}
		if t.OriginalFormat != nil {
			form.OriginalFormat = t.OriginalFormat.String()
		}
		if t.Record != nil {
			form.Record = t.Record.AppendJSON(nil)
		}
		if s := t.Stats; s != nil {
			form.Stats = &statsJSON{s.Min, s.Max, s.Mean, s.NaN, s.PosInf + s.NegInf, s.PosInf, s.NegInf}
		}
		if t.Err != nil {
			form.Error = t.Err.Error()
		}
		all[i] = form
	}
	return all
}

func blobsJSON(list []Blob) []blobJSON {
	var all []blobJSON
	for i, b := range list {
		all = append(all, blobJSON{i, b.Type, b.Size})
	}
	return all
}
