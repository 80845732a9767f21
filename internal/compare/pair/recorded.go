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

// Recorded is where torch.utils.dumper has a tensor.
type Recorded struct {
	Op   string
	Seq  int64 // of the execution, among those of all operators
	Kind tensor.Kind
	// Param is the path below the kind.
	Param []string
	// Device is where it was recorded, such as npu; empty where that is not known.
	Device string
}

// sameOperators are operators that are one and the same on the NPU, and on GPUs and
// CPUs. Those of a list are counted together.
var sameOperators = [...][2][]string{
	{{"NativeBatchNormBackward"}, {"CudnnBatchNormBackward"}},
	{{"NpuConvolutionBackward"}, {"CudnnConvolutionBackward", "ThnnConvDepthwise2DBackward"}},
}

// devicePrefixes begin the names of operators of one device.
var devicePrefixes = [...][2]string{{"Npu", "Cudnn"}, {"Npu", "Thnn"}}

// sameParams are parameters that the operators of two devices call by other names.
var sameParams = [...][2]struct{ op, param string }{
	{{"NativeBatchNormBackward", "eps"}, {"CudnnBatchNormBackward", "epsilon"}},
	{{"NpuConvolutionBackward", "input"}, {"CudnnConvolutionBackward", "self"}},
	{{"NpuConvolutionBackward", "input"}, {"ThnnConvDepthwise2DBackward", "self"}},
}

// MatchRecorded returns the partner in ref of every tensor of the NPU, by their
// places, -1 for none. Executions of an operator are partners by their number among
// those of the operator; of an NPU that was given the reference's inputs, and has
// recorded none, by that among those of all. nameMap, which may be nil, has names of
// operators that differ.
func MatchRecorded(ref, npu []Recorded, nameMap *sidefile.NameMap) []int {
	m := &recordedMatch{nameMap: nameMap, refs: executions(ref), npus: executions(npu), places: make(map[string]int, len(ref))}
	for i := range ref {
		m.places[ref[i].place(ref[i].Op, ref[i].Seq, ref[i].Param)] = i
	}
	m.bySeq = !slices.ContainsFunc(npu, func(r Recorded) bool { return r.Kind == tensor.Input })
	partners := make(map[execution]execution)
	taken := make(map[execution]bool)
	for _, e := range inSequence(npu) {
		if p, ok := m.partner(e); ok && !taken[p] {
			partners[e], taken[p] = p, true
		}
	}
	found := make([]int, len(npu))
	for i := range npu {
		found[i] = -1
		if p, ok := partners[execution{npu[i].Op, npu[i].Seq}]; ok {
			found[i] = m.tensor(&npu[i], p)
		}
	}
	return found
}

// execution is one execution of an operator.
type execution struct {
	op  string
	seq int64
}

// executions lists the numbers of the executions of operators, in order.
func executions(all []Recorded) map[string][]int64 {
	seqs := make(map[string][]int64)
	for _, e := range inSequence(all) {
		seqs[e.op] = append(seqs[e.op], e.seq)
	}
	return seqs
}

// inSequence lists executions in order.
func inSequence(all []Recorded) []execution {
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
	places     map[string]int // of the reference's tensors
	bySeq      bool
}

// place is a text that no two tensors of a file have in common.
func (r *Recorded) place(op string, seq int64, param []string) string {
	return strings.Join(append([]string{op, strconv.FormatInt(seq, 10), string(r.Kind)}, param...), "\x00")
}

// partner returns the reference's execution that belongs to one of the NPU: of the
// operator of that name, else of the one that it is on another device.
func (m *recordedMatch) partner(e execution) (execution, bool) {
	name := e.op
	if m.nameMap != nil {
		if entry, ok := m.nameMap.FindNPU(e.op); ok {
			name = entry.Ref
		}
	}
	if p, ok := m.counted(e, []string{e.op}, []string{name}); ok {
		return p, true
	}
	for _, same := range sameOperators {
		for side := range same {
			if slices.Contains(same[side], name) {
				if p, ok := m.counted(e, same[side], same[1-side]); ok {
					return p, true
				}
			}
		}
	}
	for _, prefix := range devicePrefixes {
		for side := range prefix {
			if rest, ok := strings.CutPrefix(name, prefix[side]); ok {
				if p, ok := m.counted(e, []string{e.op}, []string{prefix[1-side] + rest}); ok {
					return p, true
				}
			}
		}
	}
	return execution{}, false
}

// counted returns the execution of the reference's operators that has the number of
// e among those of the NPU's.
func (m *recordedMatch) counted(e execution, npuOps, refOps []string) (execution, bool) {
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

// tensor returns the tensor of the reference's execution that belongs to one of the
// NPU, -1 for none.
func (m *recordedMatch) tensor(r *Recorded, p execution) int {
	if i, ok := m.places[r.place(p.op, p.seq, r.Param)]; ok {
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
			if i, ok := m.places[r.place(p.op, p.seq, param)]; ok {
				return i
			}
		}
	}
	return -1
}

// hasRecorded reports whether both sides are of torch.utils.dumper.
func hasRecorded(opt *Options) bool { return opt.Recorded }

// ofRecorder is a tensor of torch.utils.dumper.
func ofRecorder(_ *Options, t *Tensor) *Tensor {
	if t.Recorded == "" {
		return nil
	}
	return t
}

func recordedKeys(t *Tensor) keys {
	return keys{whole: []key{{name: t.Recorded, kind: t.Kind}}}
}

func whyRecorded(_ *Options, t *Tensor) lang.Sentence {
	return lang.Sayf("the reference has no execution of the operator of %s with this tensor", "标杆中 %s 的算子没有带该张量的执行", t.Name())
}
