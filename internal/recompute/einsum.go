package recompute

import (
	"slices"
	"strings"

	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// term is an operand of an equation: the letters of its axes, and its tensor.
type term struct {
	letters string
	t       *cachedTensor
	shape   tensor.Shape
}

// strides returns the strides of a tensor along letters, 0 for letters that it does not have.
func (t *term) strides(letters string) []int64 {
	all := make([]int64, len(letters))
	own := t.shape.Strides()
	for i, l := range []byte(letters) {
		for k := range t.letters {
			if t.letters[k] == l && t.shape[k] > 1 {
				all[i] += own[k] // a letter twice is a diagonal
			}
		}
	}
	return all
}

// einsum is a product of two tensors by an equation such as bij,bjk->bik, or a sum of the elements of one tensor.
// Letters of both operands and the result
// become parts, letters of one operand rows or columns, and all others are summed. An ellipsis stands for the leading
// axes without letters.
func einsum(p *problem, h Attributes) (*linear, lang.Sentence) {
	text := strings.ReplaceAll(h["equation"].Value.Text, " ", "")
	operands := []*Tensor{p.Inputs[0], p.input(1)}
	if operands[1] == nil {
		operands[1] = Constant(1)
	}
	misfit := lang.Say("equation %q for shapes %s and %s", text, operands[0].Shape, operands[1].Shape)
	left, result, explicit := strings.Cut(text, "->")
	sides := strings.Split(left, ",")
	if len(sides) == 1 && p.input(1) == nil {
		sides = append(sides, "")
	}
	if len(sides) != 2 {
		return nil, misfit
	}
	var terms [2]term
	sizes := map[byte]int64{}
	longest := ""
	for i := range terms {
		t := operands[i]
		letters, dots := expandDots(sides[i], len(t.Shape))
		if len(letters) != len(t.Shape) || t.elements() > maxElements {
			return nil, misfit
		}
		if len(dots) > len(longest) {
			longest = dots
		}
		for k, l := range []byte(letters) {
			n := t.Shape[k]
			if old, ok := sizes[l]; ok && old != n && old != 1 && n != 1 {
				return nil, misfit
			}
			sizes[l] = max(sizes[l], n)
		}
		terms[i] = term{letters, p.cached(t), t.Shape}
	}
	if !explicit {
		result = implicitResult(sides)
	}
	result = strings.Replace(result, "...", longest, 1)
	var parts, rows, columns, summed string
	for _, l := range []byte(uniqueLetters(terms[0].letters + terms[1].letters)) {
		name := string(l)
		in0, in1, out := strings.Contains(terms[0].letters, name), strings.Contains(terms[1].letters, name), strings.Contains(result, name)
		switch {
		case in0 && in1 && out:
			parts += name
		case in0 && out:
			rows += name
		case out:
			columns += name
		default:
			summed += name
		}
	}
	if hasRepeatedLetter(result) || len(result) != len(parts)+len(rows)+len(columns) {
		return nil, misfit
	}
	shapeOf := func(letters string) (s tensor.Shape) {
		for _, l := range []byte(letters) {
			s = append(s, sizes[l])
		}
		return s
	}
	out := term{letters: result, shape: shapeOf(result)}
	if p.Outputs[0].elements() != out.shape.Elements() {
		return nil, misfit
	}
	l := &linear{parts: shapeOf(parts).Elements(), rows: shapeOf(rows).Elements(), k: shapeOf(summed).Elements(), n: shapeOf(columns).Elements(), byColumn: true}
	adds := l.setFactors(h)
	offset := func(strides []int64, shape tensor.Shape, i int64) (at int64) {
		for k, n := range shape.Coordinates(i) {
			at += n * strides[k]
		}
		return at
	}
	along := [2][]int64{offsetsOf(shapeOf(summed), terms[0].strides(summed)), offsetsOf(shapeOf(summed), terms[1].strides(summed))}
	line := func(t *term, at int64, along []int64, dst []float64) error {
		for i, o := range along {
			v, err := t.t.readRun(at+o, 1)
			if err != nil {
				return err
			}
			dst[i] = v[0]
		}
		return nil
	}
	l.left = func(part, row int64, dst []float64) error {
		at := offset(terms[0].strides(parts), shapeOf(parts), part) + offset(terms[0].strides(rows), shapeOf(rows), row)
		return line(&terms[0], at, along[0], dst)
	}
	l.right = func(part, from, to int64) ([]float64, error) {
		all := make([]float64, (to-from)*l.k)
		for c := from; c < to; c++ {
			at := offset(terms[1].strides(parts), shapeOf(parts), part) + offset(terms[1].strides(columns), shapeOf(columns), c)
			if err := line(&terms[1], at, along[1], all[(c-from)*l.k:][:l.k]); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	l.offset = func(part, row, column int64) int64 {
		return offset(out.strides(parts), shapeOf(parts), part) + offset(out.strides(rows), shapeOf(rows), row) + offset(out.strides(columns), shapeOf(columns), column)
	}
	if bias := p.input(2); bias != nil && adds {
		return l, l.addBroadcast(bias, p.Outputs[0].Shape)
	}
	return l, lang.Sentence{}
}

// offsetsOf returns the offsets of all elements of a shape with strides.
func offsetsOf(shape tensor.Shape, strides []int64) []int64 {
	all := make([]int64, shape.Elements())
	walkElements(shape, strides, func(i, offset int) { all[i] = int64(offset) })
	return all
}

// expandDots returns the letters of an operand of a rank, with digits for the axes of an ellipsis: 0 for the last one.
func expandDots(letters string, rank int) (all, dots string) {
	before, after, has := strings.Cut(letters, "...")
	if !has {
		return letters, ""
	}
	for k := rank - len(before) - len(after) - 1; k >= 0; k-- {
		dots += string(rune('0' + k))
	}
	return before + dots + after, dots
}

// implicitResult returns the result of an equation without ->: the ellipsis, and the letters that occur once in
// alphabetical order.
func implicitResult(sides []string) string {
	text := strings.ReplaceAll(strings.Join(sides, ""), ".", "")
	letters := []byte(uniqueLetters(text))
	slices.Sort(letters)
	letters = slices.DeleteFunc(letters, func(l byte) bool { return strings.Count(text, string(l)) > 1 })
	if strings.Contains(strings.Join(sides, ""), "...") {
		return "..." + string(letters)
	}
	return string(letters)
}

func uniqueLetters(s string) string {
	all := ""
	for _, l := range s {
		if !strings.ContainsRune(all, l) {
			all += string(l)
		}
	}
	return all
}

func hasRepeatedLetter(letters string) bool { return len(uniqueLetters(letters)) != len(letters) }

// readContraction writes an equation for the axes dims of a tensordot: a number of last and first axes, or a list of
// the axes of the first tensor followed by the axes of the second.
func readContraction(p *problem, raw Attributes) Attributes {
	dims, ok := raw["dims"]
	all, whole := dims.Value.Integers()
	y := p.input(1)
	if !ok || !whole || y == nil || len(all) == 0 {
		return raw
	}
	ranks := [2]int{p.rank(), len(y.Shape)}
	if ranks[0]+ranks[1] > 'z'-'a' || len(all) == 1 && all[0] > int64(min(ranks[0], ranks[1])) {
		return raw
	}
	axes := [2][]int64{all[:len(all)/2], all[len(all)/2:]}
	if len(all) == 1 {
		axes = [2][]int64{}
		for k := range all[0] {
			axes[0], axes[1] = append(axes[0], int64(ranks[0])-all[0]+k), append(axes[1], k)
		}
	}
	letters := [2][]byte{}
	for i, rank := range ranks {
		for k := range rank {
			letters[i] = append(letters[i], byte('a'+i*ranks[0]+k))
		}
	}
	result := string(letters[0]) + string(letters[1])
	for i := range axes[0] {
		j, k := normaliseAxis(axes[0][i], ranks[0]), normaliseAxis(axes[1][i], ranks[1])
		if len(axes[0]) != len(axes[1]) || min(j, k) < 0 || j >= ranks[0] || k >= ranks[1] {
			return raw
		}
		result = strings.NewReplacer(string(letters[0][j]), "", string(letters[1][k]), "").Replace(result)
		letters[1][k] = letters[0][j]
	}
	return raw.merge(Attributes{"equation": {Text(string(letters[0]) + "," + string(letters[1]) + "->" + result), dims.Source}})
}
