package jsonpos

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// conclude keeps the problems up to the first that makes the rest guesswork, and
// their edits only when these together surely give what was meant.
func (d *Document) conclude() {
	if d.Root != nil && len(d.Problems) > 0 {
		d.cutCascade()
	}
	if len(d.Problems) > 0 && !d.repairable() {
		for i := range d.Problems {
			d.Problems[i].Edits = nil
		}
	}
}

// cutCascade drops what follows the first problem of quotes or brackets.
func (d *Document) cutCascade() {
	fault, line := quoteFault(d.src), len(d.src)+1
	if fault >= 0 {
		line = bytes.LastIndexByte(d.src[:fault], '\n') + 1
	}
	for i, p := range d.Problems {
		if slices.Contains(ending, p.Cause) && (p.Offset < line || p.Offset == fault) {
			d.damage = p.Offset
			d.More = d.More || i+1 < len(d.Problems)
			d.Problems = slices.Clip(d.Problems[:i+1])
			return
		}
	}
	if fault < 0 {
		return
	}
	before := slices.DeleteFunc(d.Problems, func(p Problem) bool { return p.Offset >= line })
	d.More = d.More || len(before) < len(d.Problems)
	d.Problems = append(before[:min(len(before), MaxProblems-1)], Problem{
		Cause: OpenString, Offset: fault, Length: 1,
		Message: lang.Sayf("quote without partner: the quotes of this line do not pair up, or text touches one from outside", "引号不成对：该行引号数目不匹配，或引号外侧紧挨文本"),
	})
	d.damage = fault
}

// ending are the causes behind which the place of everything in the document is unknown.
var ending = []Cause{OpenString, WrongBracket, Truncated, ExtraData, Unexpected, TooDeep, TooMany}

// repairable reports whether all problems have a sure repair, which together
// make the text JSON that reads the same.
func (d *Document) repairable() bool {
	var edits []Edit
	for _, p := range d.Problems {
		if !p.sure(d.src) {
			return false
		}
		edits = append(edits, p.Edits...)
	}
	if d.More || d.Root == nil {
		return false
	}
	p := parse(Apply(d.src, edits))
	return len(p.problems) == 0 && same(d.Root, p.root)
}

var (
	identifier = lang.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainText  = lang.Pattern(`^"([\pL\pN_./|$~%@+-]+( [\pL\pN_./|$~%@+-]+)*)?"$`)
)

// sure reports whether the problem's edits are what is meant without doubt.
func (p Problem) sure(src []byte) bool {
	if len(p.Edits) == 0 {
		return false
	}
	text, repair := src[p.Offset:p.Offset+p.Length], p.Edits[0].Text
	switch p.Cause {
	case TrailingComma, ByteOrderMark:
		return true
	case FullWidth:
		return !strings.HasPrefix(repair, `"`) || plainText().MatchString(repair)
	case SingleQuotes:
		return plainText().MatchString(repair)
	case PythonConstant:
		return string(text) == "True" || string(text) == "False" || string(text) == "None"
	case UnquotedKey:
		return identifier().Match(text)
	case MissingComma:
		return p.Length == 0 // not what stands in its place
	case Comment:
		return startsComment(src, p.Offset) && bytes.Count(text, []byte(`"`))%2 == 0
	default:
		return false
	}
}

// same reports whether two values read the same.
func same(v, w *Value) bool {
	if v == nil || w == nil {
		return v == w
	}
	if v.Kind != w.Kind || v.Kind == Invalid || v.Text != w.Text {
		return false
	}
	return slices.EqualFunc(v.Elems, w.Elems, same) &&
		slices.EqualFunc(v.Members, w.Members, func(a, b Member) bool { return a.Key == b.Key && same(a.Value, b.Value) })
}

// Apply carries out edits. Where they overlap the larger one counts, and the
// first of equals.
func Apply(src []byte, edits []Edit) []byte {
	edits = disjoint(edits)
	if len(edits) == 0 {
		return src
	}
	var out bytes.Buffer
	pos := 0
	for _, e := range edits {
		out.Write(src[pos:e.Offset])
		out.WriteString(e.Text)
		pos = e.End()
	}
	out.Write(src[pos:])
	return out.Bytes()
}

// disjoint returns the edits that can be applied together, in file order.
func disjoint(edits []Edit) []Edit {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Length, b.Length), cmp.Compare(a.Text, b.Text))
	})
	var out []Edit
	for _, e := range edits {
		n := len(out)
		switch {
		case n > 0 && e == out[n-1]:
		case n == 0 || e.Offset >= out[n-1].End():
			out = append(out, e)
		case e.Length > out[n-1].Length && (n == 1 || e.Offset >= out[n-2].End()):
			out[n-1] = e
		}
	}
	return out
}
