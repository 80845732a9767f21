package report

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/metrics"
	"dumptool/internal/format/msprobe"
	"dumptool/internal/jsonpos"
	"dumptool/internal/tensor"
)

// The limits of msprobe's results, from its code. The values of a call are inputs, including
// parameters and gradients, and outputs.
const (
	goodThousandth, badThousandth = 0.9, 0.1 // of inputs, of outputs
	goodNorm, badNorm             = 0.1, 0.5
	normRatio                     = 10
	goodCosine, cosineFall        = 0.9, 0.1
)

// notJudgedText lists functions whose outputs hold no computed values, or copies of the inputs.
var notJudgedText = []string{"empty", "empty_like", "numpy", "to", "__setitem__", "empty_with_format", "new_empty", "new_empty_strided", "empty_strided"}

// inputsUnused lists functions that only write to their arguments.
var inputsUnused = []string{"_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "batch_isend_irecv"}

// judgeCall judges the values of a call by msprobe's rules.
func judgeCall(api string, rows []msprobeRow) {
	function := functionOf(api)
	if slices.Contains(notJudgedText, function) {
		return
	}
	for i := range rows {
		if rows[i].Ref != nil {
			rows[i].judge()
		}
	}
	first := -1 // index of the first output
	var inputs, outputs []*msprobeRow
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Ref == nil:
		case r.NPU.Kind == tensor.Output:
			if first < 0 {
				first = i
			}
			outputs = append(outputs, r)
		case !slices.Contains(inputsUnused, function):
			inputs = append(inputs, r)
		}
	}
	if first < 0 {
		return
	}
	in, out := worstNumbersOf(inputs), worstNumbersOf(outputs)
	switch r := &rows[first]; r.mode {
	case tensorMode:
		if in.thousandth > goodThousandth && out.thousandth < badThousandth {
			r.addFault(judgedError, "error thousandth: the share of relative errors below 0.001 falls from that of the inputs")
		}
		if in.cosine > goodCosine && in.cosine-out.cosine > cosineFall {
			r.addFault(judgedWarning, "warning cosine: the cosine falls from that of the inputs")
		}
	case numberMode:
		for _, o := range outputs {
			if in.norm < goodNorm && o.numbers.norm.Value() > badNorm {
				o.addFault(judgedError, "error norm: the norm differs, those of the inputs do not")
			}
		}
		if in.norm == 0 && out.norm > goodNorm || in.norm > 0 && out.norm/in.norm > normRatio {
			r.addFault(judgedWarning, "warning norm: the norm differs by more than those of the inputs")
		}
	}
}

// functionOf returns the function that an API calls: relu for Functional.relu.0.forward.
func functionOf(api string) string {
	parts := strings.Split(api, ".")
	if len(parts) < 4 || msprobe.IsModule(api) {
		return ""
	}
	return strings.Join(parts[1:len(parts)-2], ".")
}

// worstNumbers holds the worst numbers of values; missing shares and cosines count as 1, missing
// differences as 0.
type worstNumbers struct{ thousandth, cosine, norm float64 }

func worstNumbersOf(rows []*msprobeRow) worstNumbers {
	w := worstNumbers{1, 1, 0}
	lower := func(to *float64, m metrics.Metric) {
		if m.IsDefined() {
			*to = min(*to, m.Value())
		}
	}
	for _, r := range rows {
		lower(&w.thousandth, r.numbers.thousandth)
		lower(&w.cosine, r.numbers.cosine)
		w.norm = max(w.norm, r.numbers.norm.Value())
	}
	return w
}

// addFault adds a fault of a value.
func (r *msprobeRow) addFault(j judgment, message string) {
	r.judgment = max(r.judgment, j)
	r.messages = append(r.messages, message)
}

// judge judges a value by itself.
func (r *msprobeRow) judge() {
	n, b := r.NPU, r.Ref
	if gradCell(n) != notAvailable && gradCell(b) != notAvailable && gradCell(n) != gradCell(b) {
		r.addFault(judgedError, "error requires_grad: they differ")
	}
	if r.mode == digestMode {
		if digestOf(n) != digestOf(b) {
			r.addFault(judgedError, "error digest: they differ")
		}
		return
	}
	switch {
	case n.Tensor != nil && b.Tensor != nil:
		if isLost(n.Tensor.Max, b.Tensor.Max) || isLost(n.Tensor.Min, b.Tensor.Min) {
			r.addFault(judgedError, "error nonfinite: max or min of the NPU is NaN or infinite")
		}
		if !isSameType(n.Tensor, b.Tensor) {
			r.addFault(judgedError, "error dtype: they differ")
		}
		if !n.Tensor.Shape.Equal(b.Tensor.Shape) {
			r.addFault(judgedError, "error shape: they differ")
		}
	case n.Value != nil && b.Value != nil:
		if n.Value.Text != b.Value.Text {
			r.addFault(judgedError, "error scalar: they differ")
		}
	case typeCell(n) != typeCell(b):
		r.addFault(judgedError, "error dtype: they differ")
	}
}

// isSameType reports whether two tensors have one element type, which frameworks name in several
// ways. Runs of dumpers other than msprobe, whose tensors have no framework type, may differ in
// type on purpose.
func isSameType(n, b *msprobe.Tensor) bool {
	return n.DType == b.DType || n.Type == "" || n.ElementType() == b.ElementType() && n.ElementType() != tensor.Undefined
}

// isLost reports whether a statistic is non-finite on the NPU and finite in the reference.
func isLost(npu, ref msprobe.Number) bool {
	finite := func(n msprobe.Number) bool { return !math.IsNaN(n.Value) && !math.IsInf(n.Value, 0) }
	return npu.Kind == jsonpos.Number && ref.Kind == jsonpos.Number && !finite(npu) && finite(ref)
}
