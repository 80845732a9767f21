package unshard

import (
	"cmp"

	"dumptool/internal/trace"
	"dumptool/internal/unshard/locate"
)

// refOf returns the reference tensor with the same name and place as a tensor of an operator.
func (u *unsharder) refOf(t *trace.Tensor) *trace.Tensor {
	return u.refs[u.nameOf(t.Call)+" "+t.Place()]
}

// nameOf returns the name of a call in the reference, where layers and experts have other numbers.
func (u *unsharder) nameOf(c *trace.Call) string {
	_, layer, expert := trace.ParseName(c.Name)
	if c.Comm != nil {
		return c.Name
	}
	if layer < 0 && expert < 0 {
		return u.moduleAt(c.Name)
	}
	if name, ok := u.names[c.Name]; ok {
		return name
	}
	name := u.moduleAt(trace.WithLayer(c.Name, layer+u.shift))
	if expert >= 0 {
		name = u.expertOf(c, name)
	}
	u.names[c.Name] = name
	return name
}

// noteCall records the name of a call of the reference, and the place of a module.
func (r *reference) noteCall(name string) {
	r.calls[name] = name
	place := trace.WithoutClass(name)
	if place == "" {
		return
	}
	if other, ok := r.calls[place]; ok && other != name {
		name = "" // several modules
	}
	r.calls[place] = name
}

// moduleAt returns the name of the only module of the reference at the place of a module, if no module of the
// reference has its name: Linear for ColumnParallelLinear.
func (r *reference) moduleAt(name string) string {
	if r.namesOnly || r.calls[name] != "" {
		return name
	}
	return cmp.Or(r.calls[trace.WithoutClass(name)], name)
}

// maxExpertDistance is the largest relative distance between the weights of an expert and its counterpart in the
// reference.
const maxExpertDistance = 0.5

// expertOf returns the name of the call of an expert in the reference: the expert whose first weight is nearest. A
// call without weights takes the number of another call of the same expert.
func (u *unsharder) expertOf(c *trace.Call, name string) string {
	if len(c.Params) == 0 {
		_, _, local := trace.ParseName(c.Name)
		for mine, theirs := range u.names {
			if _, _, expert := trace.ParseName(mine); expert == local && trace.CutAtExpert(mine) == trace.CutAtExpert(c.Name) {
				_, _, n := trace.ParseName(theirs)
				return trace.WithExpert(name, n)
			}
		}
		return ""
	}
	part := u.array(c.Params[0], nil, false)
	if part == nil {
		return ""
	}
	var whole []*locate.Array
	for e := 0; ; e++ {
		t := u.refs[trace.WithExpert(name, e)+" "+c.Params[0].Place()]
		if t == nil {
			break
		}
		whole = append(whole, u.array(t, nil, true))
	}
	at, far := locate.Nearest(part, whole)
	if at < 0 || far > maxExpertDistance {
		return ""
	}
	return trace.WithExpert(name, at)
}
