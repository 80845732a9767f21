package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/dumpdir"
	"dumptool/internal/format"
	"dumptool/internal/inspect"
	"dumptool/internal/misfit"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// inspectedForm is the JSON form of a file up to the rows of its table, "statistics".
// The keys from "original_name" on stand only where there is something to say; null
// means that neither the file nor its name says it.
type inspectedForm struct {
	File         string               `json:"file"`
	Container    *string              `json:"container"`
	OpType       *string              `json:"op_type"`
	OpName       *string              `json:"op_name"`
	DumpTime     *uint64              `json:"dump_time"`
	Inputs       []inspectedTensor    `json:"inputs"`
	Outputs      []inspectedTensor    `json:"outputs"`
	Tensors      []namedForm          `json:"tensors,omitzero"`
	Values       []format.Value       `json:"values,omitempty"`
	OriginalName string               `json:"original_name,omitempty"`
	Buffers      []inspectedBlob      `json:"buffers,omitempty"`
	Spaces       []inspectedBlob      `json:"spaces,omitempty"`
	Round        *dumpdir.Coordinates `json:"round,omitempty"`
	Order        *int                 `json:"order,omitempty"`
	Script       string               `json:"script,omitempty"`
}

// inspectedEnd are the keys of a file behind "statistics".
type inspectedEnd struct {
	Counts      map[string]int `json:"counts,omitempty"`
	MisfitCount int            `json:"misfit_count,omitempty"`
	Misfits     []misfitForm   `json:"misfits,omitempty"`
	Warnings    []string       `json:"warnings,omitempty"`
	Error       string         `json:"error,omitempty"`
}

type inspectedTensor struct {
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
	Stats          *inspectedStats `json:"stats,omitempty"`
	Error          string          `json:"error,omitempty"`
}

type inspectedBlob struct {
	Index int    `json:"index"`
	Type  int32  `json:"type"`
	Size  int64  `json:"size"`
	Error string `json:"error,omitempty"`
}

// inspectedStats has null for what is undefined: without finite values, and for
// complex elements. The others are finite, but for those that a table says.
type inspectedStats struct {
	Min    any   `json:"min"`
	Max    any   `json:"max"`
	Mean   any   `json:"mean"`
	NaN    int64 `json:"nan"`
	Inf    int64 `json:"inf"`
	PosInf int64 `json:"pos_inf"`
	NegInf int64 `json:"neg_inf"`
}

// misfitForm is the JSON form of a line or field that does not fit; null is a line or
// offset that is not known.
type misfitForm struct {
	Line   *int   `json:"line"`
	Offset *int64 `json:"offset"`
	Found  string `json:"found"`
	Wanted string `json:"wanted"`
}

func misfitForms(all []misfit.Misfit) []misfitForm {
	var forms []misfitForm
	for i := range all {
		m := &all[i]
		form := misfitForm{Line: orNull(m.Line), Found: m.Found, Wanted: m.Wanted}
		if m.Offset >= 0 {
			form.Offset = &m.Offset
		}
		forms = append(forms, form)
	}
	return forms
}

// tableNumber is the JSON form of a number that may be missing or not finite.
func tableNumber(x *float64) any {
	switch {
	case x == nil:
		return nil
	case math.IsNaN(*x) || math.IsInf(*x, 0):
		return metrics.Float(*x)
	}
	return *x
}

// WriteInspectedJSON writes a file as a JSON object on a line of its own.
func WriteInspectedJSON(w io.Writer, f *inspect.File) error {
	form := inspectedForm{
		File:      f.Entry.Path(),
		Container: orNull(f.Container),
		OpType:    orNull(f.OpType),
		OpName:    orNull(f.OpName),
		DumpTime:  orNull(f.DumpTime),
		Inputs:    inspectedTensors(f.Inputs),
		Outputs:   inspectedTensors(f.Outputs),
		Buffers:   inspectedBlobs(f.Buffers),
		Spaces:    inspectedBlobs(f.Spaces),
		Round:     pointer(f.At, f.At.Known()),
		Order:     f.Order,
		Script:    f.Script,
		Values:    f.Values,
	}
	end := inspectedEnd{MisfitCount: f.Misfits.Count, Misfits: misfitForms(f.Misfits.First), Warnings: f.Warnings}
	if f.Side != nil {
		end.Counts = make(map[string]int)
		for _, c := range f.Side.Counts {
			end.Counts[strings.ReplaceAll(c.Noun, " ", "_")+"s"] = c.N
		}
	}
	if f.Named {
		form.Tensors = make([]namedForm, len(f.Tensors))
	}
	for i := range f.Tensors {
		form.Tensors[i] = newNamedForm(&f.Tensors[i])
	}
	if f.Entry.Name != store.Base(f.Entry.Path()) {
		form.OriginalName = f.Entry.Name
	}
	if err := cmp.Or(f.Err, f.Partial); err != nil {
		end.Error = err.Error()
	}
	out := bufio.NewWriter(w)
	writeAround(out, form, "statistics", f.Statistics, rowForm, end)
	out.WriteByte('\n')
	return out.Flush()
}

// orNull returns a pointer to v, nil for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func inspectedTensors(list []inspect.Tensor) []inspectedTensor {
	all := make([]inspectedTensor, len(list))
	for i := range list {
		all[i] = tensorForm(&list[i])
	}
	return all
}

// tensorForm is the JSON form of a tensor.
func tensorForm(t *inspect.Tensor) inspectedTensor {
	form := inspectedTensor{
		Index:         t.Index,
		DType:         t.TypeName(),
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
	form.Stats = statsForm(t.Stats)
	if t.Err != nil {
		form.Error = t.Err.Error()
	}
	return form
}

// statsForm is the JSON form of statistics, nil for none.
func statsForm(s *tensor.Stats) *inspectedStats {
	if s == nil {
		return nil
	}
	return &inspectedStats{tableNumber(s.Min), tableNumber(s.Max), tableNumber(s.Mean), s.NaN, s.PosInf + s.NegInf, s.PosInf, s.NegInf}
}

func inspectedBlobs(list []inspect.Blob) []inspectedBlob {
	var all []inspectedBlob
	for i, b := range list {
		form := inspectedBlob{Index: i, Type: b.Type, Size: b.Size}
		if b.Err != nil {
			form.Error = b.Err.Error()
		}
		all = append(all, form)
	}
	return all
}
