package pair

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// valueName matches names of values: op_output_1 of ONNX, op:1 of TensorFlow.
var valueName = lang.Pattern(`^(.+?)(?:_output_|:)([0-9]{1,3})$`)

// cutValue returns the operator and the output in the name of a value; of another name the whole name and 0.
func cutValue(name string) (op string, output int) {
	m := valueName().FindStringSubmatch(name)
	if m == nil {
		return name, 0
	}
	output, _ = strconv.Atoi(m[2])
	return m[1], output
}

// valueKeys returns keys from the words of a name. The name of a value is its operator and output.
func valueKeys(t *Tensor) (k keys) {
	for _, name := range t.distinctNames() {
		op, index := name, t.Index
		if t.Kind == tensor.Output && t.Index == 0 {
			op, index = cutValue(name)
			op = strings.TrimSuffix(op, "_0") // op:0 in a file name
		}
		words := strings.FieldsFunc(op, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if len(words) > 0 {
			k.whole = append(k.whole, key{strings.Join(words, "_"), t.Kind, index})
		}
	}
	return k
}

// fusible has the names of reference operators that ATC may have fused: their tensors have no partners.
type fusible struct {
	names   map[string]bool
	lengths []int // lengths of the names, longest first
	// operators has the operators in the name of an NPU operator, nil for none.
	operators map[string][]string
}

// findFusible prepares the view fused.
func (j *join) findFusible() {
	f := &fusible{names: make(map[string]bool), operators: make(map[string][]string)}
	paired := make(map[string]bool)
	for i, t := range j.ref {
		for _, name := range t.distinctNames() {
			op, _ := cutValue(name)
			op = filename.Normalise(op)
			f.names[op] = len(op) >= minFusedName && strings.ContainsFunc(op, unicode.IsLetter)
			paired[op] = paired[op] || j.isUsed[i]
		}
	}
	for name, named := range f.names {
		if !named || paired[name] {
			delete(f.names, name)
		} else if !slices.Contains(f.lengths, len(name)) {
			f.lengths = append(f.lengths, len(name))
		}
	}
	slices.Sort(f.lengths)
	slices.Reverse(f.lengths)
	j.opt.fusible = f
}

// fusedView is the view of an operator whose name ATC joined from names of the reference: it gets the last name, whose
// output is the output of the fused operator.
func fusedView(opt *Options, t *Tensor) *Tensor {
	if t.Kind != tensor.Output || t.Index != 0 {
		return nil
	}
	name := t.Name()
	parts, known := opt.fusible.operators[name]
	if !known {
		parts = opt.fusible.splitName(filename.Normalise(name))
		opt.fusible.operators[name] = parts
	}
	if parts == nil {
		return nil
	}
	return t.withName(parts[len(parts)-1])
}

// ATC names the operator of a function in ONNX after the function and adds a number, with or
// without a type: PartitionedCall_Conv_112_Conv2D_32 is Conv_112.
const functionPrefix = "PartitionedCall_"

var functionSuffix = lang.Pattern(`^(_[A-Z][0-9A-Za-z]*)?_[0-9]+`)

const (
	// minFusedName is the least length of a name; shorter names, such as q and k, may occur by accident.
	minFusedName = 3
	// maxSteps limits the search in a name.
	maxSteps = 1 << 12
)

// splitName returns the operators in a name, in their order; nil if there are none, or if several readings end
// differently.
func (f *fusible) splitName(name string) (found []string) {
	steps, differ := 0, f.names[name]
	var from func(at int, parts []string)
	from = func(at int, parts []string) {
		if steps++; steps > maxSteps {
			differ = true
		}
		if differ {
			return
		}
		if at == len(name) {
			if found == nil {
				found = slices.Clone(parts)
			}
			differ = parts[len(parts)-1] != found[len(found)-1]
			return
		}
		rest, inside := strings.CutPrefix(name[at:], functionPrefix)
		for _, n := range f.lengths {
			if n > len(rest) || !f.names[rest[:n]] || slices.Contains(parts, rest[:n]) {
				continue
			}
			end := len(name) - len(rest) + n
			if inside {
				end += len(functionSuffix().FindString(rest[n:]))
			}
			from(end, append(parts, rest[:n]))
		}
	}
	if from(0, nil); differ {
		return nil
	}
	return found
}

// pairLoosely decides by a loose rule whether the NPU tensor at position i gets one of its candidates. same are all
// tensors with the same first candidate.
func (j *join) pairLoosely(r *rule, refs, same []int, i int) {
	first := j.ref[refs[0]].Name()
	switch {
	case len(refs) > 1:
		j.reasons[i] = lang.Say("by rule %s it may belong to %s or to %s: use --map-node-dict to choose", r.name, first, j.ref[refs[1]].Name())
	case len(same) > 1:
		j.reasons[i] = lang.Say("by rule %s %d tensors may belong to %s: use --map-node-dict to choose", r.name, len(same), first)
	case !j.haveSameShape(refs[0], i):
		j.reasons[i] = lang.Say("by rule %s it would belong to %s, but their shapes differ or are unknown", r.name, first)
	default:
		j.addPair(r, refs[0], i)
	}
}

// haveSameShape reports whether the shapes of two tensors are known and equal. The order of the axes and
// axes of length 1 do not matter.
func (j *join) haveSameShape(ref, npu int) bool {
	for _, a := range j.shapesOf(ref, false) {
		for _, b := range j.shapesOf(npu, true) {
			if slices.Equal(sortedLengths(a), sortedLengths(b)) {
				return true
			}
		}
	}
	return false
}

// sortedLengths returns the lengths of the axes other than 1, sorted.
func sortedLengths(s tensor.Shape) []int64 {
	all := slices.DeleteFunc(slices.Clone(s), func(n int64) bool { return n == 1 })
	slices.Sort(all)
	return all
}
