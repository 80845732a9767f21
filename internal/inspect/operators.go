package inspect

import (
	"cmp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

// Operators are the operators of a run, each with all of its executions.
type Operators struct {
	// Rows are in execution order: that of the first round, then of those that later
	// ones have besides.
	Rows []*Operator

	byFile map[source]fileOf
}

// source is a file, or a tensor of one that names its tensors.
type source struct {
	file   *dumpdir.File
	member string
}

// Operator is what there is of an operator in all rounds of a run.
type Operator struct {
	Name, Type string
	// Script is the line of the script that the operator comes from, empty where it is
	// not known or was not asked for.
	Script string
	// Times counts the executions, Files the files, those with a failure as Failed.
	Times, Files, Failed int
	Bytes                int64 // of the files, or of the tensors of those that name them
	// Inputs and Outputs count the tensors of one execution.
	Inputs, Outputs int
	// First is the first output of one execution, the first input where it has none;
	// nil where neither could be read.
	First *Tensor
	// Stats are the range of the tensors of all executions, and their NaN and Inf;
	// nil without statistics.
	Stats *Stats
}

// fileOf is the operator of a file.
type fileOf struct {
	op *Operator
	// counted is set for the files of one execution, which say what tensors there are.
	counted bool
}

// NewOperators lists the operators of a run. What their files hold is not known yet. script asks for the lines of the script.
func NewOperators(run *dumpdir.Run, script bool) *Operators {
	all := &Operators{byFile: make(map[source]fileOf)}
	byName := make(map[[2]string]*Operator)
	for _, round := range run.Rounds {
		for _, o := range round.Ops {
			name := [2]string{o.Names()[0], o.Type}
			op := byName[name]
			if op == nil {
				op = &Operator{Name: name[0], Type: o.Type}
				byName[name] = op
				all.Rows = append(all.Rows, op)
			}
			op.Times++
			if script && op.Script == "" && o.Call != nil {
				op.Script = o.Call.Script
			}
			all.addTensors(op, o)
		}
	}
	return all
}

// addTensors notes the files of an execution, and what tables say about it.
func (all *Operators) addTensors(op *Operator, o *dumpdir.Op) {
	first := op.Times == 1
	for i := range o.Tensors {
		t := &o.Tensors[i]
		at := source{t.File, t.Member}
		if _, known := all.byFile[at]; !known && !t.Table {
			all.byFile[at] = fileOf{op, first}
			op.Files++
			if t.Member == "" {
				op.Bytes += t.File.Size
			}
		}
		if t.Table && !t.Whole() {
			row := newStatistics(o, t)
			op.addTensor(&row.Tensor, first)
		}
	}
}

// Add notes what is in a file.
func (all *Operators) Add(f *File) {
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if of, ok := all.byFile[source{f.Entry, t.Name()}]; ok {
			of.op.Bytes += t.Size
			if t.Err != nil {
				of.op.Failed++
			}
			of.op.addTensor(t, of.counted)
		}
	}
	of, ok := all.byFile[source{file: f.Entry}]
	if !ok || f.NotDump || len(f.Tensors) > 0 {
		return
	}
	if f.Failed() {
		of.op.Failed++
	}
	if name := string(f.OpName); filename.SameNormalised(name, of.op.Name) { // the header has the slashes
		of.op.Name = name
	}
	for _, list := range [][]Tensor{f.Inputs, f.Outputs} {
		for i := range list {
			of.op.addTensor(&list[i], of.counted)
		}
	}
}

// addTensor notes a tensor, which counts if it is of the first execution.
func (o *Operator) addTensor(t *Tensor, counted bool) {
	if counted {
		isOutput := t.Kind == tensor.Output
		if isOutput {
			o.Outputs++
		} else {
			o.Inputs++
		}
		if o.First == nil || isOutput && (o.First.Kind != t.Kind || t.Index < o.First.Index) {
			o.First = t
		}
	}
	if t.Stats == nil {
		return
	}
	if o.Stats == nil {
		o.Stats = &Stats{}
	}
	o.Stats.NaN = sum(o.Stats.NaN, t.Stats.NaN)
	o.Stats.Inf = sum(o.Stats.Inf, t.Stats.Inf)
	o.Stats.PosInf = sum(o.Stats.PosInf, t.Stats.PosInf)
	o.Stats.NegInf = sum(o.Stats.NegInf, t.Stats.NegInf)
	o.Stats.Min = extreme(o.Stats.Min, t.Stats.Min, func(a, b tensor.Number) bool { return a < b })
	o.Stats.Max = extreme(o.Stats.Max, t.Stats.Max, func(a, b tensor.Number) bool { return a > b })
}

// sum adds counts; nil is an unknown one.
func sum(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(*a + *b)
}

// extreme returns the one of two values that is beyond the other; nil is none.
func extreme(a, b *tensor.Number, beyond func(a, b tensor.Number) bool) *tensor.Number {
	if a == nil || b != nil && beyond(*b, *a) {
		return b
	}
	return a
}
