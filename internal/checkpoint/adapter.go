package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// The files of PEFT: the settings of an adapter, and how the names of files with its weights start.
const (
	adapterConfig = "adapter_config.json"
	adapterModel  = "adapter_model."
)

// adapter is an adapter (LoRA) as PEFT writes it.
type adapter struct {
	*side
	isOnA bool // the adapter belongs to the weights of A, else of B
	// changes are by the plain names of the weights that they change.
	changes map[string]*weightChange
}

// weightChange is scale * left * right, added to a weight, or a weight that replaces it.
type weightChange struct {
	name        string // in the adapter
	left, right *weight
	scale       float64
	// isTransposed: the weight is stored with its inputs first.
	isTransposed bool
	whole        *weight
}

// loraName divides the name of a factor: the module, whether it is an embedding, and which factor it is.
var loraName = regexp.MustCompile(`^(.+)\.lora_(embedding_)?([AB])(?:\.default)?(?:\.weight)?$`)

// openAdapter opens an adapter.
func openAdapter(dir string, isOnA bool) (*adapter, error) {
	path := store.Join(dir, adapterConfig)
	text, err := safefile.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var config struct {
		Kind         string          `json:"peft_type"`
		Alpha        float64         `json:"lora_alpha"`
		Alphas       json.RawMessage `json:"alpha_pattern"`
		IsRoot       bool            `json:"use_rslora"`
		IsTransposed bool            `json:"fan_in_fan_out"`
		IsDoRA       bool            `json:"use_dora"`
	}
	if err := jsonpos.ReaderOf(text).Decode(&config); err != nil {
		return nil, safefile.WithPath(path, err)
	}
	if config.Kind != "LORA" || config.IsDoRA || config.Alpha == 0 {
		return nil, lang.Errorf("%s: peft_type %q, lora_alpha %g, use_dora %t: want LORA, a number and false", path, config.Kind, config.Alpha, config.IsDoRA)
	}
	a := &adapter{side: &side{path: dir}, isOnA: isOnA, changes: map[string]*weightChange{}}
	file := safefile.ResolveInFolder(dir, adapterModel+"safetensors", adapterModel+"bin")
	a.add(file, "", nil)
	for _, w := range a.tensors {
		part := loraName.FindStringSubmatch(withoutWrappers(w.name))
		if part == nil {
			a.changes[withoutWrappers(w.name)] = &weightChange{name: w.name, whole: w}
			continue
		}
		key := part[1] + ".weight"
		c := a.changes[key]
		if c == nil {
			c = &weightChange{name: w.name, isTransposed: config.IsTransposed || part[2] != ""}
			if c.scale, err = alphaOf(part[1], config.Alpha, config.Alphas); err != nil {
				return nil, safefile.WithPath(path, err)
			}
			a.changes[key] = c
		}
		if part[3] == "A" {
			c.right = w
		} else {
			c.left = w
		}
	}
	for key, c := range a.changes {
		switch {
		case c.whole != nil:
		case c.left == nil || c.right == nil || !c.left.isFloat || !c.right.isFloat || len(c.left.shape) < 2 || len(c.right.shape) < 2 || c.left.columns != c.right.rows || c.right.rows == 0:
			a.fail(file, c.name, lang.Errorf("want lora_A with as many rows as lora_B has columns"))
			delete(a.changes, key)
		case config.IsRoot:
			c.scale /= math.Sqrt(float64(c.right.rows))
		default:
			c.scale /= float64(c.right.rows)
		}
	}
	return a, nil
}

// adapterBeside opens the adapter in a folder for A, or the adapter beside the weights of A or B. Two sides that are
// only adapters are compared as they are.
func (s *side) adapterBeside(other *side, dir string) (*adapter, error) {
	for _, side := range []*side{s, other} {
		if side.isAdapter && (dir != "" || !s.isAdapter || !other.isAdapter) {
			return nil, lang.Errorf("%s: an adapter without the weights below it: compare checkpoints BASE MERGED --adapter %s", side.path, side.adapter)
		}
	}
	switch {
	case dir != "":
		return openAdapter(dir, true)
	case s.isAdapter || (s.adapter == "") == (other.adapter == ""):
		return nil, nil
	}
	return openAdapter(cmp.Or(s.adapter, other.adapter), s.adapter != "")
}

// unusedChanges returns a problem for each change that no comparison of a tensor used.
func (a *adapter) unusedChanges(all []Row) []Problem {
	used := map[*weightChange]bool{}
	for i := range all {
		used[all[i].change] = true
	}
	for _, key := range slices.Sorted(maps.Keys(a.changes)) {
		if d := a.changes[key]; !used[d] {
			a.fail(a.path, d.name, lang.Errorf("%s is not one tensor of this shape on both sides", key))
		}
	}
	return a.problems
}

// alphaOf returns lora_alpha of a module: the first pattern that fits the end of its name has another one.
func alphaOf(module string, alpha float64, patterns json.RawMessage) (float64, error) {
	if len(patterns) == 0 || string(patterns) == "null" {
		return alpha, nil
	}
	isFound, r := false, jsonpos.ReaderOf(patterns)
	err := r.Object(func(key string) error {
		var number float64
		pattern, err := regexp.Compile(`^(.*\.)?(` + key + `)$`)
		if err := cmp.Or(err, r.Decode(&number)); err != nil {
			return err
		}
		if !isFound && pattern.MatchString(module) {
			alpha, isFound = number, true
		}
		return nil
	})
	return alpha, err
}

// factor is a matrix in memory: how far apart its rows are, and its columns.
type factor struct {
	values        []float64
	rows, columns int64
}

// product computes lines of scale * left * right.
type product struct {
	left, right factor
	scale       float64
	rank        int64
	width       int64     // columns of right
	sums, sizes []float64 // a line, and the sums of the magnitudes of its terms
}

// product reads the factors of a change. It is nil for a weight that replaces another one.
func (d *weightChange) product() (*product, error) {
	if d.whole != nil {
		return nil, nil
	}
	l, r := d.left.read(), d.right.read()
	p := &product{scale: d.scale, rank: d.right.rows, width: d.right.columns}
	p.left = factor{l.decode(l.readStored(0, l.shape.Elements())), l.columns, 1}
	p.right = factor{r.decode(r.readStored(0, r.shape.Elements())), r.columns, 1}
	if d.isTransposed {
		p.left, p.right, p.width = factor{p.right.values, 1, r.columns}, factor{p.left.values, 1, l.columns}, l.rows
	}
	return p, cmp.Or(l.err, r.err)
}

// computeLine computes n elements of the product from the first on, which are in one row.
func (p *product) computeLine(first, n int64) {
	if p.sums == nil {
		p.sums, p.sizes = make([]float64, n), make([]float64, n)
	}
	clear(p.sums)
	clear(p.sizes)
	row, column := first/p.width, first%p.width
	for k := range p.rank {
		l, at := float64(p.scale*p.left.values[row*p.left.rows+k*p.left.columns]), k*p.right.rows+column*p.right.columns
		for i := range p.sums {
			term := float64(l * p.right.values[at])
			p.sums[i], p.sizes[i], at = p.sums[i]+term, p.sizes[i]+math.Abs(term), at+p.right.columns
		}
	}
}

// fitsShape reports whether a weight has the shape of a change.
func (d *weightChange) fitsShape(w *weight) bool {
	if d.whole != nil {
		return d.whole.shape.Equal(w.shape)
	}
	height, width := d.left.rows, d.right.columns
	if d.isTransposed {
		height, width = width, height
	}
	return len(w.shape) > 1 && w.shape[0] == height && w.shape.Elements() == height*width
}

// adaptedPartner returns the weight of B with the name of a weight of A that the adapter changes, -1 for none. Its
// elements may be on B under another name, too: tied weights.
func (c *comparison) adaptedPartner(a *weight) int32 {
	if c.adapter == nil {
		return -1
	}
	d := c.adapter.changes[withoutWrappers(a.name)]
	if j, ok := c.named[withoutWrappers(a.name)]; ok && d != nil && d.fitsShape(a) && a.shape.Equal(c.b.tensors[j].shape) {
		return j
	}
	return -1
}

// judgeAdapted compares two weights of a name that the adapter changes. The status is LORA if one weight plus the
// change equals the other, within the rounding of the product, its scale, the sum, and float32 sums; else DIFFERENT.
func (c *comparison) judgeAdapted(ctx context.Context, row *Row, a, b *weight) {
	base, merged, side := a, b, "A"
	if !c.adapter.isOnA {
		base, merged, side = b, a, "B"
	}
	d := c.adapter.changes[withoutWrappers(a.name)]
	row.change = d
	p, err := d.product()
	if err != nil {
		row.fail(d.right, err)
		return
	}
	x, y, coarse := base.read(), merged.read(), c.grid
	if p == nil {
		x = d.whole.read()
	} else if d.left.float.Mantissa < coarse.Mantissa {
		coarse = d.left.float
	}
	off := Row{}
	for at := range a.lineCount(rows) {
		u, v := x.line(rows, at), y.line(rows, at)
		if p != nil {
			p.computeLine(at*a.columns, a.columns)
		}
		for k, got := range v {
			want, limit := u[k], float64(c.grid.Ulp(got)/2)
			if p != nil && base.isRounded { // base was rounded first
				limit += float64(c.grid.Ulp(want) / 2)
			}
			if p != nil {
				want += p.sums[k]
				limit += coarse.Ulp(p.sums[k]) + float64(0x1p-22*p.sizes[k])
			}
			if !(math.Abs(got-want) <= limit || got != got && want != want) {
				if off.Differing++; off.Differing == 1 {
					off.First = &Element{Index: a.shape.Coordinates(at*a.columns + int64(k)), A: tensor.Number(want), B: tensor.Number(got)}
					if !c.adapter.isOnA {
						off.First.A, off.First.B = off.First.B, off.First.A
					}
				}
			}
		}
		if ctx.Err() != nil || row.failOn(x) || row.failOn(y) {
			return
		}
	}
	isSame := row.Differing == 0
	switch {
	case off.Differing == 0 && !isSame:
		row.Status, row.Layout, row.Factor, row.How = LoRA, "", nil, lang.Say("%s with the adapter", side)
	case isSame && off.Differing > 0:
		row.Status, row.Differing, row.First, row.How = Different, off.Differing, off.First, lang.Say("without the adapter")
	case off.Differing < row.Differing:
		row.Status, row.Factor, row.Differing, row.First, row.How = Different, nil, off.Differing, off.First, lang.Say("%s with the adapter is different", side)
	}
}
