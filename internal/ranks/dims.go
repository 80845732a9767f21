package ranks

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/ranks/locate"
	"dumptool/internal/tensor"
)

// Dims says how the tensors of ranks are cut, for what their values do not tell.
type Dims struct {
	// Mesh are the axes of the ranks, nil where the file says the places of single ranks, or
	// nothing.
	Mesh []Axis

	places map[int]map[string]int // of single ranks along the axes
	sizes  map[string]int         // of all axes
	layers [][]int                // of each stage: the number of its first layer, or of each
	rules  []*dimsRule
	copied []*dimsCopies
	listed bool      // layers are listed one by one
	stages *dimsRule // where the file says the layers
}

// place is where something stands in a file, from 1.
type place struct {
	file         string
	line, column int
}

// DimsError is something in a file of dims that is not as it should be.
type DimsError struct {
	// File is the file, Line and Column are where in it, from 1.
	File         string
	Line, Column int
	// Problem is what was found, and what was wanted.
	Problem lang.Sentence
}

// Error names the place first.
func (e *DimsError) Error() string { return e.Text().EN }

// Text is the error in both languages.
func (e *DimsError) Text() lang.Text {
	return lang.Say("%s: line %d, column %d: %s", e.File, e.Line, e.Column, e.Problem).Text()
}

// wrong is an error at a place.
func (p place) wrong(format string, args ...any) *DimsError {
	return &DimsError{p.file, p.line, p.column, lang.Say(format, args...)}
}

// dimsRule says how the tensors of some names are cut.
type dimsRule struct {
	place
	match *regexp.Regexp
	// text is what the file says, skip is set for tensors that are not judged.
	text string
	skip bool
	// axes are those of the tensor, rest is the place of the ones that are not named, -1
	// where all are.
	axes []dimsAxis
	rest int
	// partial is set for summands, experts is how many of them each rank along an axis has.
	partial bool
	experts dimsCut
	// instead are axes of the mesh that stand for others.
	instead map[string]string
	copied  []string    // axes along which ranks hold the same
	used    atomic.Bool // a tensor has such a name
}

// dimsAxis is an axis of a tensor.
type dimsAxis struct {
	one  bool // it has one slice
	cuts []dimsCut
}

// dimsCut is how an axis is cut: by which axis of the mesh, and in what way.
type dimsCut struct {
	place
	axis  string
	how   string // empty for equal blocks, else one of cutWords
	sizes []int  // of fused parts, or the number of pad, block and expert
}

// The ways of cutting.
const (
	zigzagCut = "zigzag"
	fusedCut  = "fused"
	padCut    = "pad"
	blockCut  = "block"
	partialBy = "partial"
	expertCut = "expert"
	copiedBy  = "replicated"
)

// dimsCopies says that tensors are equal on the ranks along some axes.
type dimsCopies struct {
	place
	match *regexp.Regexp
	over  []string
}

// skipDims is the text of a rule whose tensors are not judged.
const skipDims = "skip"

// dimsParser reads the text of a rule.
type dimsParser struct {
	dims *Dims
	at   place // of the text
	rule *dimsRule
}

// parseRule reads a text such as s[cp:zigzag,tp] b[dp] h # tp:partial.
func (d *Dims) parseRule(r *dimsRule, at place) error {
	r.rest, r.instead = -1, make(map[string]string)
	if r.skip = strings.TrimSpace(r.text) == skipDims; r.skip {
		return nil
	}
	p := &dimsParser{d, at, r}
	axes, notes, _ := strings.Cut(r.text, "#")
	if err := p.words(axes, 0, p.axis); err != nil {
		return err
	}
	return p.words(notes, len(axes)+1, p.note)
}

// words calls f with each word of a text, and where that begins.
func (p *dimsParser) words(text string, first int, f func(word string, at place) error) error {
	for i := 0; i < len(text); {
		n := strings.IndexAny(text[i:], " \t")
		if n < 0 {
			n = len(text) - i
		}
		if n > 0 {
			if err := f(text[i:i+n], place{p.at.file, p.at.line, p.at.column + first + i}); err != nil {
				return err
			}
		}
		i += n + 1
	}
	return nil
}

// maxDims is how many axes a tensor may have.
const maxDims = 64

// axis reads an axis of the tensor: name[axis:how,axis].
func (p *dimsParser) axis(word string, at place) error {
	if word == "..." {
		if p.rule.rest >= 0 {
			return at.wrong("found a second ..., want one at most")
		}
		p.rule.rest = len(p.rule.axes)
		return nil
	}
	name, cuts, cut := strings.Cut(word, "[")
	if cut && !strings.HasSuffix(cuts, "]") {
		return at.wrong("found %.60q, want name[axis:how], without spaces", word)
	}
	if !isAxisName(name) || len(p.rule.axes) == maxDims {
		return at.wrong("found %.60q, want the name of an axis, 1 or ...", word)
	}
	a := dimsAxis{one: name == "1"}
	at.column += len(name) + 1
	for part := range strings.SplitSeq(strings.TrimSuffix(cuts, "]"), ",") {
		if !cut {
			break
		}
		c, err := p.cut(part, at)
		if err != nil {
			return err
		}
		switch c.how {
		case partialBy:
			p.rule.partial = true
		case expertCut, copiedBy:
			return at.wrong("found %q inside of [], want it behind #", c.how)
		default:
			a.cuts = append(a.cuts, c)
		}
		at.column += len(part) + 1
	}
	p.rule.axes = append(p.rule.axes, a)
	return nil
}

// isAxisName reports whether a word may be the name of an axis: letters, digits, _ and *.
func isAxisName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_*()", r))
	})
}

// cutWords are the ways of cutting that have numbers, and what these are.
var cutWords = map[string]string{
	fusedCut: "the sizes of the parts, such as fused=64/16/16", padCut: "the slices of the reference, such as pad=90",
	blockCut: "the slices of a block, such as block=2", expertCut: "the experts of a rank, such as expert=2",
}

// cut reads how an axis is cut: axis, or axis:how, or axis:how=8.
func (p *dimsParser) cut(text string, at place) (c dimsCut, err error) {
	name, how, qualified := strings.Cut(text, ":")
	c = dimsCut{place: at, axis: name}
	if err := p.dims.known(name, at); err != nil {
		return c, err
	}
	if !qualified {
		return c, nil
	}
	at.column += len(name) + 1
	for word := range strings.SplitSeq(how, "+") {
		key, list, numbers := strings.Cut(word, "=")
		wants, many := cutWords[key]
		switch {
		case c.how != "" && key != partialBy:
			return c, at.wrong("found %.40q besides %s, want one way of cutting", word, c.how)
		case many && !numbers:
			return c, at.wrong("found %q, want %s", key, wants)
		case !many && (numbers || key != zigzagCut && key != partialBy && key != copiedBy):
			return c, at.wrong("found %.40q, want %s, %s, %s, fused=, pad=, block= or expert=", word, zigzagCut, partialBy, copiedBy)
		}
		c.how = key
		if many {
			if c.sizes, err = cutSizes(list, key == fusedCut); err != nil {
				return c, at.wrong("found %.40q, want %s", word, wants)
			}
		}
		at.column += len(word) + 1
	}
	return c, nil
}

// maxSlices is how many slices a part may have.
const maxSlices = 1 << 31

// cutSizes are numbers with / between them.
func cutSizes(list string, several bool) (sizes []int, err error) {
	for part := range strings.SplitSeq(list, "/") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > maxSlices || len(sizes) > 0 && !several || len(sizes) == maxDims {
			return nil, lang.Errorf("found %.40q", part)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// note reads what stands behind #: axis:replicated, axis:partial, axis:expert=2 or dp:=moe_dp.
func (p *dimsParser) note(word string, at place) error {
	if axis, other, ok := strings.Cut(word, ":="); ok {
		if err := p.dims.known(axis, at); err != nil {
			return err
		}
		at.column += len(axis) + 2
		p.rule.instead[axis] = other
		return p.dims.known(other, at)
	}
	c, err := p.cut(word, at)
	switch {
	case err != nil:
		return err
	case c.how == partialBy:
		p.rule.partial = true
	case c.how == expertCut:
		p.rule.experts = c
	case c.how == copiedBy:
		p.rule.copied = append(p.rule.copied, c.axis)
	default:
		return at.wrong("found %.60q behind #, want axis:%s, axis:%s, axis:expert=2 or axis:=other", word, copiedBy, partialBy)
	}
	return nil
}

// known reports an error for an axis that the mesh does not have.
func (d *Dims) known(axis string, at place) error {
	if slices.Contains(defaultOrder, axis) || d.sizes[axis] > 0 {
		return nil
	}
	all := slices.Clone(defaultOrder)
	for name := range d.sizes {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all[len(defaultOrder):])
	return at.wrong("found the axis %.40q, want one of %s", axis, strings.Join(all, ", "))
}

// Take takes a mesh that is said elsewhere, and reports whether the file says no other.
func (d *Dims) Take(mesh []Axis) bool {
	if d.places != nil || d.Mesh != nil {
		return slices.Equal(d.Mesh, mesh)
	}
	d.Mesh = mesh
	return true
}

// Check reports a *MeshError where the mesh does not fit the ranks of rounds.
func (d *Dims) Check(rounds []*dumpdir.Round) error {
	if err := checkMesh("--dims", d.Mesh, rounds); err != nil {
		return err
	}
	for _, rank := range RanksOf(rounds) {
		if d.places != nil && d.places[rank] == nil {
			return &MeshError{"--dims", lang.Errorf("ranks: found no rank %d, which the dump has", rank)}
		}
	}
	return nil
}

// along is the place of a rank along an axis of the mesh, and how many places there are.
func (d *Dims) along(rank int, axis string) (at, size int) {
	if at, ok := d.places[rank]; ok {
		return at[axis], max(d.sizes[axis], 1)
	}
	for _, a := range d.Mesh {
		if a.Name == axis {
			return rank / a.Stride % a.Size, a.Size
		}
	}
	return 0, 1
}

// rule is the first rule for a tensor of a name, nil for none.
func (d *Dims) rule(name string) *dimsRule {
	if d == nil {
		return nil
	}
	for _, r := range d.rules {
		if r.match.MatchString(name) {
			r.used.Store(true)
			return r
		}
	}
	return nil
}

// copies reports whether two ranks hold the same of a tensor, where the file says it.
func (d *Dims) copies(name string, a, b int) (equal, said bool) {
	if d == nil {
		return false, false
	}
	var over []string
	for _, c := range d.copied {
		if c.match.MatchString(name) {
			over = c.over
			break
		}
	}
	if r := d.rule(name); over == nil && r != nil {
		over = r.copied
	}
	if over == nil {
		return false, false
	}
	axes := maps.Keys(d.sizes)
	if d.places == nil {
		axes = slices.Values(defaultOrder)
	}
	for axis := range axes {
		atA, _ := d.along(a, axis)
		atB, _ := d.along(b, axis)
		// A place along dp is one along ep too.
		if atA != atB && !slices.Contains(over, axis) && !(axis == "ep" && slices.Contains(over, "dp")) {
			return false, true
		}
	}
	return true, true
}

// Unused are the rules whose names no tensor has, each as an error at its place.
func (d *Dims) Unused() (all []*DimsError) {
	for _, r := range d.rules {
		if !r.used.Load() {
			all = append(all, r.wrong("%q matches no tensor", r.match.String()))
		}
	}
	return all
}

// indexes are the slices of the reference that a rank has of a tensor along its axes.
func (d *Dims) indexes(r *dimsRule, rank int, part, whole tensor.Shape) ([]locate.Index, error) {
	if len(part) != len(whole) {
		return nil, r.wrong("the tensor has %d axes, the reference %d: want as many", len(part), len(whole))
	}
	if n := len(r.axes); n > len(part) || r.rest < 0 && n < len(part) {
		return nil, r.wrong("the rule has %d axes, the tensor %d: want as many", n, len(part))
	}
	out := make([]locate.Index, len(part))
	named := 0
	for k := range part {
		var a dimsAxis
		if r.rest < 0 || k < r.rest || k >= r.rest+len(part)-len(r.axes) {
			a = r.axes[named]
			named++
		}
		x, err := d.index(r, a, rank, int(part[k]), int(whole[k]))
		if err != nil {
			return nil, err
		}
		out[k] = x
	}
	return out, nil
}

// index are the slices of one axis, nil for all of them.
func (d *Dims) index(r *dimsRule, a dimsAxis, rank, part, whole int) (locate.Index, error) {
	if a.one && (part != 1 || whole != 1) {
		return nil, r.wrong("the axis 1 has %d slices, %d in the reference: want 1", part, whole)
	}
	var x locate.Index
	for i, c := range a.cuts {
		axis := c.axis
		if other := r.instead[axis]; other != "" {
			axis = other
		}
		at, n := d.along(rank, axis)
		x = x.Or(whole)
		var err error
		if x, err = c.take(x, at, n, part, i == 0); err != nil {
			return nil, err
		}
	}
	if got := len(x.Or(whole)); got != part {
		if len(a.cuts) == 0 {
			return nil, r.wrong("an axis that is not cut has %d slices, the reference %d", part, whole)
		}
		return nil, a.cuts[0].wrong("the cut leaves %d of %d slices, the tensor has %d", got, whole, part)
	}
	if slices.Equal(x, locate.Index(nil).Or(whole)) {
		return nil, nil
	}
	return x, nil
}

// take is what one of n ranks gets of slices.
func (c *dimsCut) take(x locate.Index, at, n, part int, first bool) (locate.Index, error) {
	blocks := func(x locate.Index, at, n int) (locate.Index, error) {
		if len(x)%n != 0 {
			return nil, c.wrong("%d slices do not make %d equal blocks (%s)", len(x), n, c.axis)
		}
		size := len(x) / n
		return x[at*size : (at+1)*size], nil
	}
	switch c.how {
	case zigzagCut:
		if n == 1 {
			return x, nil
		}
		if len(x)%(2*n) != 0 {
			return nil, c.wrong("%d slices do not make the %d chunks of a zigzag (%s)", len(x), 2*n, c.axis)
		}
		one, _ := blocks(x, at, 2*n)
		other, _ := blocks(x, 2*n-1-at, 2*n)
		return slices.Concat(one, other), nil
	case fusedCut:
		return c.fused(x, at, n, part)
	case padCut:
		if c.sizes[0] != len(x) || !first {
			return nil, c.wrong("pad=%d is not the number of slices of the reference, %d", c.sizes[0], len(x))
		}
		if part*n < len(x) {
			return nil, c.wrong("%d ranks of %d slices do not hold %d (%s)", n, part, len(x), c.axis)
		}
		out := make(locate.Index, part)
		for i := range out {
			out[i] = locate.Padding
			if from := at*part + i; from < len(x) {
				out[i] = x[from]
			}
		}
		return out, nil
	case blockCut:
		size := c.sizes[0]
		if len(x)%(size*n) != 0 {
			return nil, c.wrong("%d slices do not make blocks of %d for %d ranks (%s)", len(x), size, n, c.axis)
		}
		out := make(locate.Index, 0, len(x)/n)
		for i, from := range x {
			if i/size%n == at {
				out = append(out, from)
			}
		}
		return out, nil
	}
	return blocks(x, at, n)
}

// fused is a part of each of several tensors that lie behind each other. Of heads that are
// fewer than ranks several ranks have the same.
func (c *dimsCut) fused(x locate.Index, at, n, part int) (locate.Index, error) {
	total := 0
	for _, size := range c.sizes {
		total += size
	}
	if total != len(x) {
		return nil, c.wrong("the fused parts have %d slices, the reference %d", total, len(x))
	}
	share := 1 // ranks that have the same of all parts but the first
	if others := total - c.sizes[0]; n > 1 && others > 0 && c.sizes[0]%n == 0 && part != total/n {
		if rest := (part - c.sizes[0]/n) * n; rest > 0 && rest%others == 0 && n%(rest/others) == 0 {
			share = rest / others
		}
	}
	var out locate.Index
	from := 0
	for i, size := range c.sizes {
		at, n := at, n
		if i > 0 {
			at, n = at/share, n/share
		}
		if size%n != 0 {
			return nil, c.wrong("a fused part of %d slices does not make %d equal blocks (%s)", size, n, c.axis)
		}
		out = append(out, x[from+at*size/n:from+(at+1)*size/n]...)
		from += size
	}
	return out, nil
}
