package msprobe

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// valuePath is the position of a value in an entry.
type valuePath struct {
	entry *Entry
	kind  tensor.Kind
	name  string // name of the entry or section
	path  string
}

// element returns the path of an element of this value.
func (p *valuePath) element(key string) *valuePath {
	inner := *p
	if inner.path != "" {
		inner.path += "."
	}
	inner.path += key
	return &inner
}

// setName sets the name of a leaf in an entry or section.
func (l *Leaf) setName(in string) {
	l.Name = in
	if l.Path != "" {
		l.Name += "." + l.Path
	}
}

// usualLeaves is the number of values that few calls exceed.
const usualLeaves = 6

func (r *reader) add(p *valuePath, l Leaf) error {
	l.Kind, l.Path = p.kind, p.path
	l.setName(p.name)
	r.leaves++
	if r.memory += leafMemory + int64(len(l.Name)); r.memory > freeMemory+memoryFactor*r.Offset() {
		return lang.Errorf("%.100s: found %d values, more than the memory allowed for a file of %d bytes can hold", p.entry.API, r.leaves, r.Offset())
	}
	if p.entry.Leaves == nil {
		p.entry.Leaves = make([]Leaf, 0, usualLeaves)
	}
	p.entry.Leaves = append(p.entry.Leaves, l)
	return nil
}

// readValue reads a value: None, a list, a dict, or a leaf. A leaf is an object whose first member is
// its type.
func (r *reader) readValue(p *valuePath) error {
	switch r.Kind() {
	case jsonpos.Null:
		if err := r.Skip(); err != nil {
			return err
		}
		return r.add(p, Leaf{})
	case jsonpos.Array:
		return r.Array(func(i int) error { return r.readValue(p.element(strconv.Itoa(i))) })
	case jsonpos.Object:
		return r.readObject(p)
	}
	return r.Unexpected("a tensor, a value with its type, a list, a dict or null")
}

func (r *reader) readObject(p *valuePath) error {
	members, isLeaf := 0, false
	l := r.newLeaf()
	defer func() { r.spare = append(r.spare, l) }()
	err := r.Object(func(key string) error {
		members++
		if members == 1 {
			isLeaf = r.Kind() == jsonpos.String && (key == "type" || key == "class_type")
		}
		switch {
		case !isLeaf:
			return r.readValue(p.element(key))
		case key == "tensor" && r.Kind() == jsonpos.Object: // of a communication
			l.hasInner = true
			return r.readObject(p)
		}
		return l.readMember(key)
	})
	if err != nil || !isLeaf {
		return err
	}
	if l.hasInner {
		l.describe(p.entry.Leaves)
		return nil
	}
	return r.add(p, l.readMembers())
}

// newLeaf returns an empty leaf, if possible in the memory of a leaf that was read.
func (r *reader) newLeaf() *leaf {
	n := len(r.spare)
	if n == 0 {
		return &leaf{reader: r}
	}
	l := r.spare[n-1]
	r.spare = r.spare[:n-1]
	*l = leaf{reader: r}
	return l
}

// describe adds the members of the leaf to the tensor inside it. That tensor is the last of leaves.
func (l *leaf) describe(leaves []Leaf) {
	if len(leaves) == 0 {
		return
	}
	of := &leaves[len(leaves)-1]
	if l.p2p.Op != "" && l.Odd.IsZero() {
		of.P2P = new(l.p2p)
	}
	if of.Tensor != nil {
		of.Tensor.Odd = cmp.Or(of.Tensor.Odd, l.Odd)
	}
}

// leaf collects the members of a leaf.
type leaf struct {
	*reader
	Tensor
	value    Value
	p2p      P2P
	hasShape bool // the leaf is a tensor
	hasInner bool // the leaf contains a tensor
}

func (l *leaf) readMembers() Leaf {
	if l.hasShape {
		t := l.Tensor
		return Leaf{Tensor: &t}
	}
	v := l.value
	v.Type, v.Odd = l.Type, l.Odd
	return Leaf{Value: &v}
}

func (l *leaf) readMember(key string) error {
	switch key {
	case "type", "class_type":
		return l.internedText(&l.Type)
	case "dtype":
		return l.internedText(&l.DType)
	case "shape":
		l.hasShape = true
		return l.readShape()
	case "Max":
		return l.readNumber(&l.Max)
	case "Min":
		return l.readNumber(&l.Min)
	case "Mean":
		return l.readNumber(&l.Mean)
	case "Norm":
		return l.readNumber(&l.Norm)
	case "Max_except_inf_nan":
		return l.readNumber(&l.finiteExtremes().Max)
	case "Min_except_inf_nan":
		return l.readNumber(&l.finiteExtremes().Min)
	case "md5":
		return l.readText(&l.Digest)
	case "data_name":
		return l.readText(&l.DataName)
	case "requires_grad":
		return l.readBool(&l.RequiresGrad)
	case "group_ranks":
		return l.readGroup()
	case "op":
		if l.Reader.Kind() == jsonpos.String {
			return l.internedText(&l.p2p.Op)
		}
	case "peer":
		return l.readWholeNumber(key, &l.p2p.Peer)
	case "tag":
		return l.readWholeNumber(key, &l.p2p.Tag)
	case "value":
		l.value.Kind = l.Kind()
		var text strings.Builder
		err := l.appendPython(&text, false)
		l.value.Text = text.String()
		return err
	}
	return l.Skip()
}

// readShape reads the dimensions of a tensor. With an invalid dimension the shape is unknown.
func (l *leaf) readShape() error {
	if l.Reader.Kind() != jsonpos.Array {
		return l.skipOdd("shape", "a list")
	}
	l.Shape = tensor.Shape{}
	known := true
	err := l.Array(func(i int) error {
		if i == maxRank {
			return lang.Errorf("offset %d: found more than %d dimensions, wanted fewer", l.Offset(), maxRank)
		}
		if kind := l.Reader.Kind(); kind == jsonpos.Array || kind == jsonpos.Object {
			known = false
			return l.skipOdd("shape", "whole numbers")
		}
		_, text, err := l.Scalar()
		n, bad := strconv.ParseInt(text, 10, 64)
		if bad != nil || n < 0 {
			known, l.Odd = false, cmp.Or(l.Odd, lang.Say("the dimension %.40q, want a whole number", text))
		}
		l.Shape = append(l.Shape, n)
		return err
	})
	if _, ok := l.Shape.Count(); known && !ok {
		known, l.Odd = false, cmp.Or(l.Odd, lang.Say("the shape %v, want fewer than 2^63 elements", l.Shape))
	}
	if !known {
		l.Shape = nil
	}
	return err
}

// maxGroup is the maximum number of ranks in a group.
const maxGroup = 1 << 20

// readGroup reads the ranks of a process group. With an invalid rank the group is unknown.
func (l *leaf) readGroup() error {
	const wanted = "a list of different ranks"
	if l.Reader.Kind() != jsonpos.Array {
		return l.skipOdd("group_ranks", wanted)
	}
	at, known, key := l.Offset(), true, []byte(nil)
	var ranks []int
	seen := make(map[int]bool)
	err := l.Array(func(i int) error {
		if i == maxGroup {
			return lang.Errorf("offset %d: found more than %d ranks of a group, wanted fewer", l.Offset(), maxGroup)
		}
		if kind := l.Reader.Kind(); kind == jsonpos.Array || kind == jsonpos.Object {
			known = false
			return l.Skip()
		}
		kind, text, err := l.Scalar()
		n, bad := strconv.Atoi(text)
		known = known && kind == jsonpos.Number && bad == nil && n >= 0 && !seen[n]
		seen[n] = true
		ranks, key = append(ranks, n), append(append(key, text...), ',')
		return err
	})
	if !known || len(ranks) == 0 {
		l.Odd = cmp.Or(l.Odd, lang.Say("group_ranks at offset %d, want %s", at, wanted))
		return err
	}
	l.value.Group = l.internGroup(string(key), ranks)
	return err
}

// readWholeNumber reads a non-negative integer.
func (l *leaf) readWholeNumber(member string, to *int) error {
	if l.Reader.Kind() != jsonpos.Number {
		return l.skipOdd(member, "a whole number")
	}
	_, text, err := l.Scalar()
	n, bad := strconv.Atoi(text)
	if bad != nil || n < 0 {
		l.Odd = cmp.Or(l.Odd, lang.Say("the %s %.40q, want a whole number", member, text))
	}
	*to = n
	return err
}

// skipOdd skips and reports the value of a member with a wrong type.
func (l *leaf) skipOdd(member, wanted string) error {
	l.Odd = cmp.Or(l.Odd, lang.Say("%s at offset %d, want %s", member, l.Offset(), wanted))
	return l.Skip()
}

// finiteExtremes returns the extremes of the finite elements, to be set.
func (l *leaf) finiteExtremes() *Extremes {
	if l.Finite == nil {
		l.Finite = new(Extremes)
	}
	return l.Finite
}

func (l *leaf) readNumber(to *Number) error {
	kind := l.Kind()
	if kind == jsonpos.Array || kind == jsonpos.Object {
		return l.skipOdd("a statistic", "a number")
	}
	_, text, err := l.Scalar()
	if err != nil {
		return err
	}
	*to = newNumber(kind, text)
	return nil
}

// newNumber converts a scalar of the file.
func newNumber(kind jsonpos.Kind, text string) Number {
	n := Number{Kind: kind}
	switch kind {
	case jsonpos.String:
		n.Text = text
	case jsonpos.Bool:
		if text == "true" {
			n.Value = 1
		}
	case jsonpos.Number:
		n.Value, _ = strconv.ParseFloat(text, 64) // too large a number becomes infinity
		n.Int = !strings.ContainsAny(text, ".eEnN")
	}
	return n
}

func (l *leaf) readBool(to **bool) error {
	kind, text, err := l.Scalar()
	if err == nil && kind == jsonpos.Bool {
		yes := text == "true"
		*to = &yes
	}
	return err
}

// appendPython prints a value like Python's str, nested values like repr.
func (l *leaf) appendPython(w *strings.Builder, inside bool) error {
	switch l.Reader.Kind() {
	case jsonpos.Array:
		w.WriteByte('[')
		err := l.Array(func(i int) error {
			if i > 0 {
				w.WriteString(", ")
			}
			return l.appendPython(w, true)
		})
		w.WriteByte(']')
		return err
	case jsonpos.Object:
		w.WriteByte('{')
		first := true
		err := l.Object(func(key string) error {
			if !first {
				w.WriteString(", ")
			}
			first = false
			writeRepr(w, key)
			w.WriteString(": ")
			return l.appendPython(w, true)
		})
		w.WriteByte('}')
		return err
	}
	kind, text, err := l.Scalar()
	switch {
	case err != nil:
		return err
	case kind == jsonpos.String && inside:
		writeRepr(w, text)
	default:
		w.WriteString(pythonText(kind, text))
	}
	return nil
}

// pythonText prints a scalar like Python's str.
func pythonText(kind jsonpos.Kind, text string) string {
	switch {
	case kind == jsonpos.Null:
		return "None"
	case kind == jsonpos.Bool && text == "true":
		return "True"
	case kind == jsonpos.Bool:
		return "False"
	case kind == jsonpos.Number:
		switch text {
		case "NaN":
			return "nan"
		case "Infinity":
			return "inf"
		case "-Infinity":
			return "-inf"
		}
	}
	return text
}

// writeRepr quotes a text like Python's repr.
func writeRepr(w *strings.Builder, text string) {
	quote := byte('\'')
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	w.WriteByte(quote)
	for _, c := range text {
		switch {
		case c == rune(quote) || c == '\\':
			w.WriteByte('\\')
			w.WriteRune(c)
		case c == '\n':
			w.WriteString(`\n`)
		case c == '\r':
			w.WriteString(`\r`)
		case c == '\t':
			w.WriteString(`\t`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(w, `\x%02x`, c)
		default:
			w.WriteRune(c)
		}
	}
	w.WriteByte(quote)
}
