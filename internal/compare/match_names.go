package compare

import (
	"path"
	"strconv"
	"strings"

	"dumptool/internal/compare/pairing"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// tensors tells pairing what the items are called.
func tensors(items []item) []pairing.Tensor {
	all := make([]pairing.Tensor, len(items))
	for i := range items {
		it := &items[i]
		it.id = i
		name, _ := pairing.ParseName(it.name)
		t := name.Tensor()
		if it.dump || t.Kind == "" {
			t.Kind, t.Index = pairing.Kind(it.kind), it.index
		}
		if it.dump {
			t.Op = it.header
		}
		if t.Timestamp == 0 {
			t.Timestamp = it.timestamp
		}
		t.ID = i
		if it.folder != "." {
			t.Round = it.folder
		}
		all[i] = t
	}
	return all
}

// shapes are the shapes that the file of a tensor tells, nil for none.
func (m *matcher) shapes(id int, npu bool) []tensor.Shape {
	side := m.ref
	if npu {
		side = m.npu
	}
	it := &side.items[id]
	if it.err != nil || it.raw {
		return nil
	}
	o, err := it.openFile(m.opt.Version, tensorfile.RawHint{})
	if err != nil {
		return nil // which is told when the tensor is compared
	}
	defer o.Close()
	var known []tensor.Shape
	for _, s := range []tensor.Shape{o.t.Shape, o.t.OriginalShape} {
		if len(s) > 0 { // a scalar's is in no name
			known = append(known, s)
		}
	}
	if len(known) == 0 && !it.dump {
		known = append(known, tensor.Shape{})
	}
	return known
}

// sameName is what names a row in reports.
type sameName struct {
	op, kind, round string
	output          int
	npuOp           string
}

// distinguish makes the names of rows unique. Several results of the NPU can
// stand for one result of the model: their rows have the NPU's operator in
// NPUOp even where it is the model's name, and as much more of the tensor as it
// takes: NAME, NAME:output:1, TYPE.NAME:output:1:THREAD, or the file.
func (m *matcher) distinguish() {
	texts := []func(*match) string{
		func(x *match) string { return m.npus[x.npu.id].Name() },
		func(x *match) string { return m.tensorOf(x) },
		func(x *match) string {
			t := &m.npus[x.npu.id]
			return strings.TrimSuffix(t.OpType+"."+m.tensorOf(x)+":"+t.Slice, ":")
		},
		func(x *match) string { return path.Base(x.row.NPUFile) },
	}
	for i := range texts {
		rows := map[sameName][]*match{}
		for k := range m.matches {
			x := &m.matches[k]
			r := &x.row
			at := sameName{r.Op, r.Kind, r.Round, r.Output, r.NPUOp}
			if i == 0 {
				at.npuOp = "" // it does not show in most reports
			}
			rows[at] = append(rows[at], x)
		}
		for _, same := range rows {
			for _, x := range same {
				if len(same) > 1 && x.npu != nil {
					x.row.NPUOp = texts[i](x)
				}
			}
		}
	}
}

// tensorOf names the NPU's tensor.
func (m *matcher) tensorOf(x *match) string {
	t := &m.npus[x.npu.id]
	return t.Name() + ":" + string(t.Kind) + ":" + strconv.Itoa(t.Index)
}
