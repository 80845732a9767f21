package diagnose

import (
	"slices"

	"dumptool/internal/format/msprobe"
	"dumptool/internal/optype"
)

// findForwards finds the forward call of each backward call: the call of the same number if its outputs have the shapes
// of the gradients, else the only call whose outputs have these shapes. Numbers alone do not suffice: activation
// checkpointing runs a forward call twice, and modules number their backward calls from the last forward call on.
func (n *dataFlow) findForwards() {
	forwards := map[string][]*operator{}
	var backwards []*operator
	for _, o := range n.operators {
		switch name := o.call(); name.Direction {
		case msprobe.Forward:
			forwards[name.Callee] = append(forwards[name.Callee], o)
		case msprobe.Backward:
			backwards = append(backwards, o)
		}
	}
	for _, o := range backwards {
		name := o.call()
		fitting := slices.DeleteFunc(slices.Clone(forwards[name.Callee]), func(f *operator) bool { return !o.isGradientOf(f) })
		i := slices.IndexFunc(fitting, func(f *operator) bool { return f.call().Number == name.Number })
		switch {
		case i >= 0:
			o.forward = fitting[i]
		case len(fitting) == 1:
			o.forward = fitting[0]
		}
		if o.forward == nil {
			continue
		}
		for _, r := range o.outputs {
			r.typ = o.forward.typeOfGradient()
		}
	}
}

// call parses the name of the operator as msprobe writes it.
func (o *operator) call() msprobe.Name {
	for _, rows := range [][]*row{o.outputs, o.inputs} {
		if len(rows) > 0 {
			return msprobe.ParseName(rows[0].source.Op)
		}
	}
	return msprobe.Name{}
}

// isGradientOf reports whether the gradients that a backward call reads have the shapes of the outputs
// of a forward call of the same round.
func (o *operator) isGradientOf(forward *operator) bool {
	if len(forward.outputs) == 0 || len(o.inputs) == 0 || forward.outputs[0].source.Round != o.inputs[0].source.Round {
		return false
	}
	for _, r := range o.inputs {
		i := slices.IndexFunc(forward.outputs, func(f *row) bool { return f.source.Output == r.source.Output })
		if i >= 0 && !forward.outputs[i].source.Shape.Equal(r.source.Shape) {
			return false
		}
	}
	return true
}

// typeOfGradient returns the type of the backward call of a forward call: gated for poolings and selections, else
// unknown.
func (o *operator) typeOfGradient() optype.Type {
	if len(o.outputs) == 0 {
		return optype.Type{}
	}
	switch typ := o.outputs[0].typ; {
	case typ.Trait == optype.Picks:
		return optype.Type{Class: optype.Gated, Form: optype.Pooled}
	case typ.Selects:
		return optype.Type{Class: optype.Gated}
	}
	return optype.Type{}
}

// readRows returns the compared rows that an operator reads: its inputs, and for a backward call the inputs
// and outputs of its forward call.
func (o *operator) readRows() []*row {
	if o.forward == nil {
		return o.inputs
	}
	return slices.Concat(o.inputs, o.forward.inputs, o.forward.outputs)
}
