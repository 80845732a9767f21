package recompute

import (
	"math"
	"slices"
	"strings"

	"dumptool/internal/tensor"
)

const (
	// widthOfStatistics is the last axis of softmax_max and softmax_sum of npu_fusion_attention: each number is
	// repeated 8 times.
	widthOfStatistics = 8
	// maxAttention is the largest number of multiplications of an attention whose rows are all computed.
	// rowsOfAttention is the number of cells computed of a larger one.
	maxAttention, rowsOfAttention = 2e8, 64
)

// scaleOfHeads is the factor of the products of q and k, usually 1/sqrt(elements of a head).
var scaleOfHeads = closedAttribute("scale", func(p *problem) (all []Attributes) {
	seen := map[int64]bool{}
	for _, layout := range append(layouts.choices(p), Attributes{}) {
		for _, heads := range headCounts.choices(p) {
			if q, ok := headsOf(p.Inputs[0].Shape, layout.merge(heads).merge(p.Attributes), 0); ok && !seen[q.d] {
				seen[q.d] = true
				all = append(all, Attributes{"scale": {Number(1 / math.Sqrt(float64(q.d))), FromShape}})
			}
		}
	}
	return append(all, Attributes{"scale": {Number(1), FromValues}})
}).withFit(fitRule{})

// layouts lists the usual orders of axes. The list is not complete.
var layouts = incompleteAttribute(closedAttribute("layout", func(p *problem) (all []Attributes) {
	for _, layout := range []string{"BNSD", "BSND", "BSH", "SBH"} {
		if len(layout) == p.rank() || p.rank() == 3 && layout == "BNSD" { // BNSD without the batch axis
			all = append(all, Attributes{"layout": {Text(layout), FromValues}})
		}
	}
	if _, ok := p.Attributes["lengths"]; ok && p.rank() == 3 {
		all = append(all, Attributes{"layout": {Text(packed), FromValues}})
	}
	return all
}))

// headCounts lists usual numbers of heads that are concatenated on one axis. The list is not complete.
var headCounts = incompleteAttribute(closedAttribute("heads", func(p *problem) (all []Attributes) {
	const most = 1 << 15 // elements of q: a larger one takes too long
	q := p.Inputs[0].Shape
	if len(q) != 3 || slices.Contains([]string{"BNSD", packed}, p.Attributes["layout"].Value.Text) || q.Elements() > most {
		return []Attributes{{}}
	}
	for _, d := range []int64{64, 128, 32, 16, 256, 80, 96, 192, 8} {
		if q[2]%d == 0 {
			all = append(all, Attributes{"heads": {Number(float64(q[2] / d)), FromValues}})
		}
	}
	return all
}))

// pseOrder says when a bias is added to the scores: before they are multiplied by the scale (1, as in the
// documentation of npu_fusion_attention), or after.
var pseOrder = closedAttribute("pse_type", func(p *problem) []Attributes {
	if p.input(4) == nil {
		return []Attributes{{}}
	}
	return flagAttribute("pse_type", true).choices(p)
})

// maskBand says whether pre_tokens and next_tokens also limit a mask without a mode. By the documentation both have
// to agree.
var maskBand = closedAttribute("band", func(p *problem) []Attributes {
	_, before := p.Attributes["pre_tokens"]
	_, behind := p.Attributes["next_tokens"]
	if p.input(3) == nil || !before && !behind {
		return []Attributes{{}}
	}
	return flagAttribute("band", false).choices(p)
})

// readAttention translates the names of attributes in operators and functions, and derives causal from the modes of
// masks: 1 aligns the diagonal at the first row and column, 2 at the last ones. The scale none means the default
// scale of the heads.
func readAttention(p *problem, raw Attributes) Attributes {
	raw = raw.merge(nil)
	for name, others := range map[string][]string{"heads": {"head_num", "num_heads"}, "scale": {"scale_value"}, "layout": {"input_layout"}, "pre_tokens": {"pre_tockens"}, "next_tokens": {"next_tockens"}} {
		for _, other := range others {
			if a, ok := raw[other]; ok {
				raw[name] = a
			}
		}
	}
	if layout, ok := raw["layout"]; ok && layout.Value.Text == "NSD" { // BNSD without the batch axis
		layout.Value.Text = "BNSD"
		raw["layout"] = layout
	}
	if scale, ok := raw["scale"]; ok && scale.Value.IsText() {
		if q, ok := headsOf(p.Inputs[0].Shape, raw, 0); ok {
			raw["scale"] = Attribute{Number(1 / math.Sqrt(float64(q.d))), scale.Source}
		}
	}
	if ends, ok := raw["ends_together"]; ok {
		n, _ := ends.Value.Number()
		raw["causal"] = Attribute{Number(2 * n), ends.Source}
	}
	if mode, ok := raw["sparse_mode"]; ok {
		n, _ := mode.Value.Number()
		raw["causal"] = Attribute{Number(map[float64]float64{0: 0, 1: 0, 2: 1, 3: 2}[n]), mode.Source}
		if n > 3 {
			raw["causal"] = Attribute{Number(n), mode.Source}
		}
		if n > 0 && p.input(3) == nil { // modes apply only with a mask
			delete(raw, "causal")
		}
	}
	return raw
}

// mayLackKeys reports whether an attention that looks causal may have used keys of other ranks: the first rows agree
// and most of the later rows do not. Without the arguments of the call a batch may also have had fewer keys; then
// most of the batch disagrees.
func (j *judge) mayLackKeys(r *result) bool {
	causal, t := r.attrs["causal"], r.tallies[0]
	bad := float64(t.bad) / float64(t.checked)
	if q, ok := headsOf(j.op.Inputs[0].Shape, r.attrs, 0); ok && j.formula.name == "Attention" && j.op.Open && q.b > 1 && 2*bad*float64(q.b) >= 1 {
		return true
	}
	return causal.Source == FromValues && causal.Value.String() != "0" && 4*bad >= 1 && 2*bad >= 1-float64(t.firstBad)/float64(j.op.Outputs[0].elements())
}

// packed is the layout of sequences one after another, without padding: tokens, heads, elements of a head. The
// attributes lengths and lengths_kv are the ends of the sequences in q and in k and v.
const packed = "TND"

// headTensor is a tensor as b batches of n heads with s rows of d elements, and the strides of these axes.
type headTensor struct {
	b, n, s, d     int64
	sb, sn, ss, sd int64
}

// headsOf finds the heads of a tensor. d is the number of elements of a head where the layout does not determine it;
// with 0 it follows from the attribute heads.
func headsOf(shape tensor.Shape, h Attributes, d int64) (headTensor, bool) {
	layout, _, _ := strings.Cut(h["layout"].Value.Text, "_")
	if len(shape) == 3 && (layout == "BNSD" || layout == "") { // no batch axis
		shape = slices.Concat(tensor.Shape{1}, shape)
	}
	switch {
	case len(shape) == 3 && layout == packed:
		return headTensor{1, shape[1], shape[0], shape[2], shape.Elements(), shape[2], shape[1] * shape[2], 1}, true
	case len(shape) == 4 && (layout == "BNSD" || layout == ""):
		return headTensor{shape[0], shape[1], shape[2], shape[3], shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1}, true
	case len(shape) == 4 && layout == "BSND":
		return headTensor{shape[0], shape[2], shape[1], shape[3], shape[1] * shape[2] * shape[3], shape[3], shape[2] * shape[3], 1}, true
	case len(shape) == 4 && layout == "SBND": // the output is in the layout SBH
		return headTensor{shape[1], shape[2], shape[0], shape[3], shape[2] * shape[3], shape[3], shape[1] * shape[2] * shape[3], 1}, true
	case len(shape) != 3 || layout != "BSH" && layout != "SBH" && layout != "SBND":
		return headTensor{}, false
	}
	if n, ok := h["heads"].Value.Number(); d == 0 && ok && n >= 1 {
		d = shape[2] / int64(n)
	}
	if d == 0 || shape[2]%d != 0 {
		return headTensor{}, false
	}
	x := headTensor{shape[0], shape[2] / d, shape[1], d, shape[1] * shape[2], d, shape[2], 1}
	if layout != "BSH" {
		x.b, x.s, x.sb, x.ss = shape[1], shape[0], shape[2], shape[1]*shape[2]
	}
	return x, true
}

// view returns the heads as a view with n/group groups of heads.
func (x *headTensor) view(group int64) view {
	return view{shape: tensor.Shape{x.b, x.n / group, group, x.s, x.d}, strides: []int64{x.sb, x.sn * group, x.sn, x.ss, x.sd}}
}

// attentionCut is the cutter of Attention: batches, groups, heads and rows of q.
func attentionCut(p *problem, h Attributes) *cutRule {
	q, ok := headsOf(p.Inputs[0].Shape, h, 0)
	if !ok {
		return misfit("q of shape %s in the layout %q", p.Inputs[0].Shape, h["layout"].Value.Text)
	}
	if h["layout"].Value.Text == packed && (h["lengths"].Value.IsText() || h["lengths_kv"].Value.IsText()) {
		return misfit("the layout %s without the ends of the sequences", packed)
	}
	k, ok := headsOf(p.Inputs[1].Shape, h, q.d)
	if !ok || k.b != q.b || k.d != q.d || k.n == 0 || q.n%k.n != 0 {
		return misfit("k of shape %s does not fit q of shape %s", p.Inputs[1].Shape, p.Inputs[0].Shape)
	}
	valueLength := q.d
	if s := p.Inputs[2].Shape; len(s) == 3 && k.n > 0 {
		valueLength = s[2] / k.n
	}
	v, ok := headsOf(p.Inputs[2].Shape, h, valueLength)
	if !ok || v.b != k.b || v.n != k.n || v.s != k.s {
		return misfit("v of shape %s does not fit k of shape %s", p.Inputs[2].Shape, p.Inputs[1].Shape)
	}
	if _, of, turned := strings.Cut(h["layout"].Value.Text, "_"); turned { // input_output, such as BNSD_BSND
		h = h.merge(Attributes{"layout": {Text(of), h["layout"].Source}})
	}
	out, ok := headsOf(p.Outputs[0].Shape, h, v.d)
	if !ok || out.b != q.b || out.n != q.n || out.s != q.s || out.d != v.d {
		return misfit("the output has the shape %s, of q of shape %s and v of shape %s", p.Outputs[0].Shape, p.Inputs[0].Shape, p.Inputs[2].Shape)
	}
	c, group := wholeTensors(p), q.n/k.n
	c.in[0], c.in[1], c.in[2] = q.view(group), k.view(1), v.view(1)
	c.out = append([]view{out.view(group)}, statisticsOf(p.Outputs[1:], h, q, group)...)
	for i := 3; i < len(p.Inputs); i++ {
		if p.Inputs[i] == nil {
			continue
		}
		if c.in[i].shape, ok = maskShape(p.Inputs[i].Shape, i == 3, h, q, k); !ok {
			return misfit("input %d of shape %s, of %d rows and %d columns", i, p.Inputs[i].Shape, q.s, k.s)
		}
	}
	whole := c.out[0].shape
	for axis := range 4 {
		f := freeAxis{size: whole[axis], out: slices.Repeat([]span{{axis: axis}}, len(c.out))}
		for i, v := range c.in {
			at := -1
			if len(v.shape) == len(whole) && v.shape[axis] == whole[axis] && (axis < 3 || i != 1 && i != 2) && v.shape[axis] > 1 {
				at = axis
			}
			f.in = append(f.in, span{axis: at})
		}
		c.free = append(c.free, f)
	}
	if float64(out.b*out.n*out.s)*float64(k.s)*float64(q.d+v.d) > maxAttention {
		c.maxCells = rowsOfAttention
	}
	return c
}

// statisticsOf returns views of the statistics that fused attention returns after its result: the largest score and
// the sum of the exponentials, or the logarithm of the sum of the exponentials of the scores. It ends at an output of
// another shape.
func statisticsOf(outputs []*Tensor, h Attributes, q headTensor, group int64) (all []view) {
	for i, t := range outputs {
		last := t.Shape[max(0, len(t.Shape)-1):].Elements()
		shape, layout := tensor.Shape{q.b, q.n, q.s, last}, Attributes{}
		if h["layout"].Value.Text == packed {
			shape, layout = tensor.Shape{q.s, q.n, last}, h
		}
		if !t.Shape.Equal(shape) || last != widthOfStatistics && (last != 1 || i > 0) {
			break
		}
		x, _ := headsOf(shape, layout, last)
		if all = append(all, x.view(group)); last == 1 {
			break
		}
	}
	return all
}

// maskShape returns the shape in which a mask or a bias broadcasts to the scores. A mask of three axes has a matrix
// for each batch.
func maskShape(s tensor.Shape, isMask bool, h Attributes, q, k headTensor) (tensor.Shape, bool) {
	if isMask && len(s) == 3 && s[0] == q.b && h["masked"].Value.Text == "out" {
		s = tensor.Shape{s[0], 1, s[1], s[2]}
	}
	shape, ok := biasShape(s, q, k)
	if !ok && isMask && h["causal"].Value.String() != "0" {
		return tensor.Shape{1, 1, 1, 1, 1}, true
	}
	return shape, ok
}

// biasShape returns the shape in which a tensor broadcasts to the scores of all batches and heads.
func biasShape(s tensor.Shape, q, k headTensor) (tensor.Shape, bool) {
	s = padShape(s, 4)
	group := q.n / k.n
	fits := len(s) == 4 && (s[0] == 1 || s[0] == q.b) && (s[1] == 1 || s[1] == q.n) && (s[2] == 1 || s[2] == q.s) && s[3] == k.s
	if !fits {
		return nil, false
	}
	if s[1] == 1 {
		return tensor.Shape{s[0], 1, 1, s[2], s[3]}, true
	}
	return tensor.Shape{s[0], k.n, group, s[2], s[3]}, true
}

func attention(c *call) []*Array {
	q, k, v := c.input(0), c.input(1), c.input(2)
	causal := int64(c.numberAttribute("causal"))
	if c.err != nil || causal < 0 || causal > 2 && causal != banded {
		return []*Array{c.fail("a mask of mode %d, want 0 to 4", causal)}
	}
	scores, scale := q.rowProducts(k), c.numberAttribute("scale")
	c.recordIntermediate(scoresOfHeads, scores, 1)
	switch {
	case !c.hasInput(4):
		scores = scores.times(scale)
	case c.numberAttribute("pse_type") == 1: // scale (q k' + pse), by the documents of CANN
		scores = scores.add(c.input(4)).times(scale)
	case c.numberAttribute("pse_type") == 0:
		scores = scores.times(scale).add(c.input(4))
	default:
		return []*Array{c.fail("pse_type %v, want 0 or 1", c.numberAttribute("pse_type"))}
	}
	if c.hasInput(3) && !c.hasFlagMask() && causal == 0 {
		scores = scores.add(c.input(3))
	}
	unmasked := c.scoreFlags(scores, causal)
	if unmasked != nil {
		scores = unmasked.selectWhere(scores, c.number(math.Inf(-1)))
	}
	largest := scores.largest(4)
	powers := scores.sub(largest).exp()
	sum := powers.sum(4)
	weights := powers.div(sum)
	y := weights.weightedRowSums(v, formatOf(c.types[0]))
	c.acceptLeaks(weights, v, y)
	if c.err != nil {
		return nil
	}
	if len(c.got) == 2 && c.shapes[1][4] == 1 {
		largest = sum.log().add(largest)
	}
	all := []*Array{y, largest, sum}[:len(c.got)]
	for k, got := range c.got {
		if all[k] = all[k].expand(got.shape); unmasked != nil {
			all[k].copyEmptyRows(got, unmasked)
		}
	}
	return all
}

// copyEmptyRows copies the NPU's elements for rows without any score: their values are not defined.
func (x *Array) copyEmptyRows(got, unmasked *Array) {
	row, n := int(x.shape[len(x.shape)-1]), int(unmasked.shape[len(unmasked.shape)-1])
	for i := range len(x.v) / max(1, row) {
		if !slices.Contains(unmasked.v[i*n:][:n], 1) {
			copy(x.v[i*row:][:row], got.v[i*row:])
			clear(x.narrow[i*row:][:row])
			clear(x.wide[i*row:][:row])
		}
	}
}

// acceptLeaks copies the NPU's NaN and infinities where a masked row of v has them: a product with weight 0 spreads
// them, a kernel that skips masked rows does not. Both are right.
func (c *call) acceptLeaks(weights, v, y *Array) {
	isNonFinite := func(x float64) bool { return x-x != 0 }
	if c.err != nil || !slices.ContainsFunc(v.v, isNonFinite) {
		return
	}
	rows, columns, n := int(weights.shape[2]*weights.shape[3]), int(weights.shape[4]), int(v.shape[4])
	for at, got := range c.got[0].v {
		if !isNonFinite(got) {
			continue
		}
		row := at / n
		for k, w := range weights.v[row*columns:][:columns] {
			if w == 0 && isNonFinite(v.v[(row/rows*columns+k)*n+at%n]) {
				y.v[at], y.narrow[at], y.wide[at] = got, 0, 0
			}
		}
	}
}

// banded is the mode of a mask with a number of columns before and after the diagonal.
const banded = 4

// scoreFlags returns 1 for scores that are used and 0 for masked ones. It is nil if all are used, or if the mask
// holds numbers.
func (c *call) scoreFlags(scores *Array, causal int64) *Array {
	isMasked := c.hasFlagMask() && causal == 0
	_, hasRows := c.attrs["lengths"]
	_, hasColumns := c.attrs["lengths_kv"]
	if c.err != nil || !isMasked && causal == 0 && !c.isAttributeTrue("band") && !hasRows && !hasColumns {
		return nil
	}
	t := c.exactArray(scores.shape, c.alloc(len(scores.v)))
	rows, columns := int(scores.shape[3]), int(scores.shape[4])
	perBatch := int(scores.shape[1:].Elements())
	for i := 0; i < len(t.v); i += columns {
		batch, row := i/max(1, perBatch)+int(c.lo[0]), i/columns%rows+int(c.lo[3])
		q, k := c.sequence(batch, row, columns)
		low, high := c.band(causal, (k.end-k.first)-(q.end-q.first))
		for column := range columns {
			distance := float64((column - k.first) - (row - q.first))
			t.v[i+column] = boolToFloat(row < q.end && column >= k.first && column < k.end && distance >= low && distance <= high)
		}
	}
	if !isMasked {
		return t
	}
	keep := c.textAttribute("masked") == "keep"
	for i, v := range c.input(3).expand(scores.shape).v {
		t.v[i] *= boolToFloat((v != 0) == keep)
	}
	return t
}

// hasFlagMask reports whether the mask holds flags, not numbers to add. Kernels also accept 0 and 1 of any type as
// flags.
func (c *call) hasFlagMask() bool {
	return c.hasInput(3) && (!isFloat(c.types[3]) || c.textAttribute("masked") == "out" && !slices.ContainsFunc(c.input(3).v, func(v float64) bool { return v != 0 && v != 1 }))
}

// band returns the range of distances from the diagonal, column minus row, of the columns that are used. behind is
// the distance of the last column from the last row.
func (c *call) band(causal int64, behind int) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if causal == banded || c.isAttributeTrue("band") {
		if n, ok := c.attrs["pre_tokens"].Value.Number(); ok {
			low = -n
		}
		if n, ok := c.attrs["next_tokens"].Value.Number(); ok {
			high = n
		}
	}
	switch causal {
	case 1:
		low, high = math.Inf(-1), 0
	case 2:
		low, high = math.Inf(-1), float64(behind)
	case banded:
		low, high = low+float64(behind), high+float64(behind)
	}
	return low, high
}

// sequenceSpan is the rows or the columns of a sequence, without the one at end.
type sequenceSpan struct{ first, end int }

// sequence returns the rows and the columns of the sequence with a row. Rows behind the last sequence have no
// columns.
func (c *call) sequence(batch, row, columns int) (q, k sequenceSpan) {
	rows := int(c.free[3].size)
	if c.textAttribute("layout") != packed {
		return sequenceSpan{0, c.lengthOf("lengths", batch, rows)}, sequenceSpan{0, c.lengthOf("lengths_kv", batch, columns)}
	}
	ofQ, isQ := c.attrs["lengths"].Value.Integers()
	ofK, isK := c.attrs["lengths_kv"].Value.Integers()
	if !isQ || !isK || len(ofQ) != len(ofK) {
		c.fail("the sequences end at %s in q and at %s in k", c.attrs["lengths"].Value, c.attrs["lengths_kv"].Value)
		return q, k
	}
	for i := range ofQ {
		q, k = sequenceSpan{q.end, int(min(ofQ[i], int64(rows)))}, sequenceSpan{k.end, int(min(ofK[i], int64(columns)))}
		if row < q.end {
			return q, k
		}
	}
	return q, sequenceSpan{columns, columns}
}

// lengthOf returns the number of rows or columns of a batch that are used, from an attribute with one number for all
// batches or one for each.
func (c *call) lengthOf(name string, batch, all int) int {
	a, ok := c.attrs[name]
	n, whole := a.Value.Integers()
	switch {
	case !ok:
		return all
	case !whole || len(n) != 1 && batch >= len(n):
		c.fail("attribute %s is %q, want a number for each batch", name, a.Value)
		return all
	case len(n) == 1:
		batch = 0
	}
	return int(min(n[batch], int64(all)))
}

// rowProducts returns the products of the rows of x with the rows of y, which several heads of a group share.
func (x *Array) rowProducts(y *Array) *Array {
	m := x.m
	if m.err != nil || len(x.shape) != 5 || len(y.shape) != 5 || x.shape[4] != y.shape[4] {
		return m.fail("rows of %s and %s", x.shape, y.shape)
	}
	rows, columns, n := int(x.shape[2]*x.shape[3]), int(y.shape[3]), int(x.shape[4])
	z := m.array(append(slices.Clone(x.shape[:4]), y.shape[3]))
	chain := math.Sqrt(float64(float64(n)/cube) + 1)
	for i := range z.v {
		row, column := i/columns, i%columns
		if column == 0 && m.isStopped() {
			break
		}
		left, right := x.v[row*n:][:n], y.v[(row/rows*columns+column)*n:][:n]
		var v, size, square float64
		for k, s := range left {
			p := float64(s * right[k])
			v += p
			size += math.Abs(p)
			square += float64(p * p)
		}
		e := func(c *bounds) float64 { return float64(2*c.acc*chain*size) + float64(6*c.inp*math.Sqrt(square)) }
		z.set(i, v, e(&m.narrow), e(&m.wide))
	}
	return z
}

// weightedRowSums returns the sums of the rows of y weighted by the rows of x. The matrix unit gets the weights rounded to the
// type of the inputs.
func (x *Array) weightedRowSums(y *Array, format tensor.Float) *Array {
	m := x.m
	if m.err != nil || len(x.shape) != 5 || len(y.shape) != 5 || x.shape[4] != y.shape[3] {
		return m.fail("rows of %s times %s", x.shape, y.shape)
	}
	rows, columns, n := int(x.shape[2]*x.shape[3]), int(x.shape[4]), int(y.shape[4])
	z := m.array(append(slices.Clone(x.shape[:4]), y.shape[4]))
	size, square := m.alloc(n), m.alloc(n)
	clear(z.v)
	clear(z.narrow)
	clear(z.wide)
	rounding, chain := math.Ldexp(1, -format.Mantissa-1), math.Sqrt(float64(float64(columns)/cube)+1)
	for row := range len(x.v) / max(1, columns) {
		if m.isStopped() {
			break
		}
		clear(size)
		clear(square)
		v, a, b := z.v[row*n:][:n], z.narrow[row*n:][:n], z.wide[row*n:][:n]
		for k, s := range x.v[row*columns:][:columns] {
			ea, eb := x.narrow[row*columns+k], x.wide[row*columns+k]
			if s == 0 {
				continue // masked: the elements of this row may be anything
			}
			for i, t := range y.v[(row/rows*columns+k)*n:][:n] {
				p := float64(s * t)
				v[i] += p
				size[i] += math.Abs(p)
				square[i] += float64(p * p)
				t = math.Abs(t)
				a[i] += float64(ea * t)
				b[i] += float64(eb * t)
			}
		}
		for i, s := range v {
			root := math.Sqrt(square[i])
			e := func(c *bounds) float64 {
				return float64(2*c.acc*chain*size[i]) + float64(6*(rounding+c.inp)*root)
			}
			z.set(row*n+i, s, a[i]+e(&m.narrow), b[i]+e(&m.wide))
		}
	}
	return z
}
