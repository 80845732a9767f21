package ranks

import (
	"slices"
	"strings"

	"dumptool/internal/ranks/locate"
)

// refOf is the tensor of the reference that one of an operator of the rank is a part of.
func (u *unsharder) refOf(t *Tensor) *Tensor { return u.refs[u.nameOf(t.Call)+" "+t.place()] }

// nameOf is the name that a call has in the reference.
func (u *unsharder) nameOf(c *Call) string {
	_, layer, expert := parseName(c.Name)
	if layer < 0 && expert < 0 || c.Comm != nil {
		return c.Name
	}
	if name, ok := u.names[c.Name]; ok {
		return name
	}
	name := numbered(c.Name, layerWords, layer+u.shift)
	if expert >= 0 {
		name = u.expertOf(c, name)
	}
	u.names[c.Name] = name
	return name
}

// numbered is a name with another number behind one of some words.
func numbered(name string, words []string, n int) string {
	parts := strings.Split(name, ".")
	for i := 1; i < len(parts); i++ {
		if _, ok := numberIn(parts[i]); ok && slices.Contains(words, parts[i-1]) {
			parts[i] = itoa(n)
		}
	}
	return strings.Join(parts, ".")
}

// sameExpert is how far the weights of an expert may be apart, relative.
const sameExpert = 0.5

// expertOf is the name of the call of an expert in the reference: that whose first weight
// is nearest. Calls without weights have the number of those of their expert that have some.
func (u *unsharder) expertOf(c *Call, name string) string {
	if len(c.Params) == 0 {
		_, _, local := parseName(c.Name)
		for mine, theirs := range u.names {
			if _, _, expert := parseName(mine); expert == local && beforeExpert(mine) == beforeExpert(c.Name) {
				_, _, n := parseName(theirs)
				return numbered(name, expertWords, n)
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
		t := u.refs[numbered(name, expertWords, e)+" "+c.Params[0].place()]
		if t == nil {
			break
		}
		whole = append(whole, u.array(t, nil, true))
	}
	at, far := locate.Nearest(part, whole)
	if at < 0 || far > sameExpert {
		return ""
	}
	return numbered(name, expertWords, at)
}

// beforeExpert is a name up to the number of the expert.
func beforeExpert(name string) string {
	for _, word := range expertWords {
		if before, _, ok := strings.Cut(name, "."+word+"."); ok {
			return before
		}
	}
	return name
}
