package inspect

import (
	"cmp"

	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/tensor"
)

// Operators lists the operators of a run, each with all executions.
type Operators struct {
	// Rows is in execution order: of the first round, then further operators of later rounds.
	Rows []*Operator

	byFile map[inspectedSource]fileOf
}

// inspectedSource is a file, or a tensor of a file with named tensors.
type inspectedSource struct {
	file   *dumpdir.File
	member string
}

// Operator summarises an operator over all rounds of a run.
type Operator struct {
	Name, Type string
	// Script is the script line of the operator, empty if unknown or not requested.
	Script string
	// Times counts the executions, Files the files, Failed the files with a failure.
	Times, Files, Failed int
	Bytes                int64 // size of the files, or of the tensors in files with named tensors
	// Inputs and Outputs count the tensors of one execution.
	Inputs, Outputs int
	// First is the first output of one execution, else its first input; nil if neither could be
	// read.
	First *Tensor
	// Stats is the range of the tensors of all executions, with their NaN and Inf; nil without
	// statistics.
	Stats *Stats
}

// fileOf is the operator of a file.
type fileOf struct {
	op *Operator
	// counted: the file belongs to the first execution of the operator, whose inputs and outputs are counted.
	counted bool
}

// NewOperators lists the operators of a run without their files' contents. script requests the
// script lines.
func NewOperators(run *dumpdir.Run, script bool) *Operators {
	all := &Operators{byFile: make(map[inspectedSource]fileOf)}
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

// addTensors adds the files of an execution, and its rows in tables.
func (all *Operators) addTensors(op *Operator, o *dumpdir.Op) {
	first := op.Times == 1
	for i := range o.Tensors {
		t := &o.Tensors[i]
		at := inspectedSource{t.File, t.Member}
		if _, known := all.byFile[at]; !known && !t.Table {
			all.byFile[at] = fileOf{op, first}
			op.Files++
			if t.Member == "" {
				op.Bytes += t.File.Size
			}
		}
		if t.Table && !t.IsWholeFile() {
			row := newStatistics(o, t)
			op.addTensor(&row.Tensor, first)
		}
	}
}

// Add adds the contents of a file.
func (all *Operators) Add(f *File) {
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if of, ok := all.byFile[inspectedSource{f.Entry, t.Name()}]; ok {
			of.op.Bytes += t.Size
			if t.Err != nil {
				of.op.Failed++
			}
			of.op.addTensor(t, of.counted)
		}
	}
	of, ok := all.byFile[inspectedSource{file: f.Entry}]
	if !ok || f.NotDump || len(f.Tensors) > 0 {
		return
	}
	if f.Failed() {
		of.op.Failed++
	}
	if name := string(f.OpName); filename.SameNormalised(name, of.op.Name) { // the header keeps the slashes
		of.op.Name = name
	}
	for _, list := range [][]Tensor{f.Inputs, f.Outputs} {
		for i := range list {
			of.op.addTensor(&list[i], of.counted)
		}
	}
}

// addTensor adds a tensor; counted tensors belong to the first execution.
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
	o.Stats.Min = moreExtreme(o.Stats.Min, t.Stats.Min, func(a, b tensor.Number) bool { return a < b })
	o.Stats.Max = moreExtreme(o.Stats.Max, t.Stats.Max, func(a, b tensor.Number) bool { return a > b })
}

// sum adds counts; nil is unknown.
func sum(a, b *int64) *int64 {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return new(*a + *b)
}

// moreExtreme returns b if it is beyond a, else a; nil is none.
func moreExtreme(a, b *tensor.Number, beyond func(a, b tensor.Number) bool) *tensor.Number {
	if a == nil || b != nil && beyond(*b, *a) {
		return b
	}
	return a
}
