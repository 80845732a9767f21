package pair

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
	"dumptool/internal/tensor"
)

// RecorderPosition is the position of a tensor in a file of torch.utils.dumper.
type RecorderPosition struct {
	Op   string
	Seq  int64 // number of the execution, counted over all operators
	Kind tensor.Kind
	// Param is the path below the kind.
	Param []string
	// Device is the device of the run, such as npu; empty if unknown.
	Device string
}

// sameOperators are different names of one operator on the NPU, and on GPUs and CPUs. Operators in
// a list are counted together.
var sameOperators = [...][2][]string{
	{{"NativeBatchNormBackward"}, {"CudnnBatchNormBackward"}},
	{{"NpuConvolutionBackward"}, {"CudnnConvolutionBackward", "ThnnConvDepthwise2DBackward"}},
}

// devicePrefixes are prefixes of operators on one device.
var devicePrefixes = [...][2]string{{"Npu", "Cudnn"}, {"Npu", "Thnn"}}

// sameParams are parameters with other names in the operators of two devices.
var sameParams = [...][2]struct{ op, param string }{
	{{"NativeBatchNormBackward", "eps"}, {"CudnnBatchNormBackward", "epsilon"}},
	{{"NpuConvolutionBackward", "input"}, {"CudnnConvolutionBackward", "self"}},
	{{"NpuConvolutionBackward", "input"}, {"ThnnConvDepthwise2DBackward", "self"}},
}

// MatchRecorded returns the position in ref of the partner of every tensor of the NPU, -1 for none. The k-th
// executions of an operator on both sides are partners. A run that replays the inputs of the reference has recorded
// no inputs; then executions with the same Seq are partners. nameMap may be nil; it maps names of operators.
func MatchRecorded(ref, npu []RecorderPosition, nameMap *sidefile.NameMap) []int {
	m := &recordedMatch{nameMap: nameMap, refs: listExecutions(ref), npus: listExecutions(npu), places: make(map[string]int, len(ref))}
	for i := range ref {
		m.places[ref[i].key(ref[i].Op, ref[i].Seq, ref[i].Param)] = i
	}
	m.bySeq = !slices.ContainsFunc(npu, func(r RecorderPosition) bool { return r.Kind == tensor.Input })
	partners := make(map[execution]execution)
	used := make(map[execution]bool)
	for _, e := range sequenceExecutions(npu) {
		if p, ok := m.partner(e); ok && !used[p] {
			partners[e], used[p] = p, true
		}
	}
	found := make([]int, len(npu))
	for i := range npu {
		found[i] = -1
		if p, ok := partners[execution{npu[i].Op, npu[i].Seq}]; ok {
			found[i] = m.tensorPosition(&npu[i], p)
		}
	}
	return found
}

// execution is one execution of an operator.
type execution struct {
	op  string
	seq int64
}

// listExecutions lists the numbers of the executions of each operator, in order.
func listExecutions(all []RecorderPosition) map[string][]int64 {
	seqs := make(map[string][]int64)
	for _, e := range sequenceExecutions(all) {
		seqs[e.op] = append(seqs[e.op], e.seq)
	}
	return seqs
}

// sequenceExecutions lists all executions in order.
func sequenceExecutions(all []RecorderPosition) []execution {
	list := make([]execution, len(all))
	for i := range all {
		list[i] = execution{all[i].Op, all[i].Seq}
	}
	slices.SortFunc(list, func(a, b execution) int { return cmp.Or(cmp.Compare(a.seq, b.seq), strings.Compare(a.op, b.op)) })
	return slices.Compact(list)
}

type recordedMatch struct {
	nameMap    *sidefile.NameMap
	refs, npus map[string][]int64
	places     map[string]int // positions of the reference's tensors, by RecorderPosition.key
	bySeq      bool
}

// key returns a unique key of a tensor in a file.
func (r *RecorderPosition) key(op string, seq int64, param []string) string {
	return strings.Join(append([]string{op, strconv.FormatInt(seq, 10), string(r.Kind)}, param...), "\x00")
}

// partner returns the reference's execution for an execution of the NPU, by the name of the operator, else by its
// name on another device.
func (m *recordedMatch) partner(e execution) (execution, bool) {
	name := e.op
	if m.nameMap != nil {
		if entry, ok := m.nameMap.FindNPU(e.op); ok {
			name = entry.Ref
		}
	}
	if p, ok := m.kthExecution(e, []string{e.op}, []string{name}); ok {
		return p, true
	}
	for _, same := range sameOperators {
		for side := range same {
			if slices.Contains(same[side], name) {
				if p, ok := m.kthExecution(e, same[side], same[1-side]); ok {
					return p, true
				}
			}
		}
	}
	for _, prefix := range devicePrefixes {
		for side := range prefix {
			if rest, ok := strings.CutPrefix(name, prefix[side]); ok {
				if p, ok := m.kthExecution(e, []string{e.op}, []string{prefix[1-side] + rest}); ok {
					return p, true
				}
			}
		}
	}
	return execution{}, false
}

// kthExecution returns the k-th execution of refOps, where e is the k-th execution of npuOps; with
// bySeq the execution with the Seq of e.
func (m *recordedMatch) kthExecution(e execution, npuOps, refOps []string) (execution, bool) {
	var refs, npus []execution
	for _, op := range refOps {
		for _, seq := range m.refs[op] {
			refs = append(refs, execution{op, seq})
		}
	}
	for _, op := range npuOps {
		for _, seq := range m.npus[op] {
			npus = append(npus, execution{op, seq})
		}
	}
	bySeq := func(a, b execution) int { return cmp.Compare(a.seq, b.seq) }
	slices.SortStableFunc(refs, bySeq)
	slices.SortStableFunc(npus, bySeq)
	k := slices.Index(npus, e)
	if m.bySeq {
		k = slices.IndexFunc(refs, func(r execution) bool { return r.seq == e.seq })
	}
	if k < 0 || k >= len(refs) {
		return execution{}, false
	}
	return refs[k], true
}

// tensorPosition returns the position of the tensor of execution p for a tensor of the NPU, -1 for none.
func (m *recordedMatch) tensorPosition(r *RecorderPosition, p execution) int {
	if i, ok := m.places[r.key(p.op, p.seq, r.Param)]; ok {
		return i
	}
	last := len(r.Param) - 1
	for _, same := range sameParams {
		for side := range same {
			here, there := same[side], same[1-side]
			if last < 0 || here.op != r.Op || here.param != r.Param[last] || there.op != p.op {
				continue
			}
			param := append(slices.Clone(r.Param[:last]), there.param)
			if i, ok := m.places[r.key(p.op, p.seq, param)]; ok {
				return i
			}
		}
	}
	return -1
}

// hasRecorded reports whether both sides come from torch.utils.dumper.
func hasRecorded(opt *Options) bool { return opt.Recorded }

// recorderView returns a tensor as torch.utils.dumper recorded it, nil for other tensors.
func recorderView(_ *Options, t *Tensor) *Tensor {
	if t.Recorded == "" {
		return nil
	}
	return t
}

func recordedKeys(t *Tensor) keys {
	return keys{whole: []key{{name: t.Recorded, kind: t.Kind}}}
}

func explainNoRecording(_ *Options, t *Tensor) lang.Sentence {
	return lang.Say("the reference has no execution of the operator of %s with this tensor", t.Name())
}
