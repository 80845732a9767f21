package ranks

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/lang"
)

// dimsWriter finds rules that say what was found.
type dimsWriter struct {
	ranks []int
	// shifts are how far the numbers of layers of ranks are off, mixed is set where a rank has
	// several.
	shifts map[int]int
	mixed  bool
	// experts are the numbers in the reference, by rank and number there.
	experts map[[2]int]int
	all     []*dimsFound
}

// dimsFound is a role of which a rule is wanted.
type dimsFound struct {
	*placed
	// rule is the text of dims, empty where none says what was found.
	rule    string
	why     string // there is none
	differs bool   // from step to step
}

// WriteDims writes where the tensors of all steps lie as a file of dims: to look at, and to
// edit. A mesh that is known names the axes; nil finds one that fits. What such a file cannot
// say is there as a comment.
func WriteDims(w io.Writer, steps []*Located, mesh []Axis) error {
	d := &dimsWriter{shifts: make(map[int]int), experts: make(map[[2]int]int)}
	for _, l := range steps {
		d.collect(l)
	}
	slices.Sort(d.ranks)
	axes := d.choose(mesh)
	d.name(axes)
	_, err := io.WriteString(w, d.text(axes))
	return err
}

// collect takes the roles of a step.
func (d *dimsWriter) collect(l *Located) {
	for t, where := range l.At {
		if t.Call.Comm != nil || where.Ref == nil {
			continue
		}
		if !slices.Contains(d.ranks, t.Call.Rank) {
			d.ranks = append(d.ranks, t.Call.Rank)
		}
		_, layer, expert := parseName(t.Call.Name)
		_, refLayer, refExpert := parseName(where.Ref.Call.Name)
		if layer >= 0 && refLayer >= 0 {
			old, seen := d.shifts[t.Call.Rank]
			d.mixed = d.mixed || seen && old != refLayer-layer
			d.shifts[t.Call.Rank] = refLayer - layer
		}
		if expert >= 0 && refExpert >= 0 {
			at := [2]int{t.Call.Rank, expert}
			if old, seen := d.experts[at]; seen && old != refExpert {
				refExpert = -1 // other ones in other layers
			}
			d.experts[at] = refExpert
		}
	}
	for _, p := range l.placedTensors() {
		i := slices.IndexFunc(d.all, func(f *dimsFound) bool { return f.role == p.role && f.tensor == p.tensor })
		if i < 0 {
			d.all = append(d.all, &dimsFound{placed: p})
			continue
		}
		f := d.all[i]
		f.varied = f.varied || p.varied
		for rank, x := range p.by {
			old := f.by[rank]
			f.differs = f.differs || old != nil && !old.same(x)
			f.by[rank] = x
		}
	}
}

// dimsAxes is a mesh that may be chosen: the places of ranks, the fastest axis first.
type dimsAxes struct {
	dims  *Dims
	names []string
	given bool
}

// newAxes makes a mesh of sizes and names for ranks in their order.
func (d *dimsWriter) newAxes(sizes []int, names []string) *dimsAxes {
	a := &dimsAxes{names: names, dims: &Dims{places: make(map[int]map[string]int), sizes: make(map[string]int)}}
	for i, n := range sizes {
		a.dims.sizes[names[i]] = n
	}
	for i, rank := range d.ranks {
		at := make(map[string]int)
		for k, n := range sizes {
			at[a.names[k]] = i % n
			i /= n
		}
		a.dims.places[rank] = at
	}
	return a
}

// choose is the mesh by which most roles can be said; of those the one with fewest axes.
func (d *dimsWriter) choose(mesh []Axis) *dimsAxes {
	if mesh != nil {
		a := &dimsAxes{dims: &Dims{Mesh: mesh, sizes: make(map[string]int)}, given: true}
		for _, x := range mesh {
			a.names = append(a.names, x.Name)
			a.dims.sizes[x.Name] = x.Size
		}
		d.say(a)
		return a
	}
	var best *dimsAxes
	most := -1
	for _, sizes := range factors(len(d.ranks)) {
		var names []string
		for i := range sizes {
			names = append(names, "axis"+itoa(i))
		}
		a := d.newAxes(sizes, names)
		if n := d.say(a); n > most {
			best, most = a, n
		}
	}
	d.say(best)
	return best
}

// factors are the lists of numbers from 2 on with a product, those with fewest first.
func factors(n int) (all [][]int) {
	if n < 2 {
		return [][]int{{}}
	}
	for k := 2; k < n; k++ {
		if n%k == 0 {
			for _, rest := range factors(n / k) {
				all = append(all, append([]int{k}, rest...))
			}
		}
	}
	all = append(all, []int{n})
	slices.SortStableFunc(all, func(a, b []int) int { return len(a) - len(b) })
	return all
}

// say gives roles their rules by a mesh, and counts those that have one. What ranks of a
// stage say of layers and of experts counts too.
func (d *dimsWriter) say(a *dimsAxes) (said int) {
	known := make(map[string]string) // of roles that lie alike
	for _, f := range d.all {
		f.rule, f.why = "", ""
		switch {
		case f.differs:
			f.why = "elsewhere from step to step"
		case f.varied:
			f.why = "rows in an order of their own"
		case len(f.by) == 0 || f.isLost():
			f.why = "not found"
		default:
			key := f.key()
			rule, ok := known[key]
			if !ok {
				rule = f.say(a)
				known[key] = rule
			}
			if f.rule = rule; rule == "" {
				f.why = "not along the axes of the ranks"
			}
		}
		if f.rule != "" && f.expert {
			f.rule += d.expertNote(a, f.rule)
		}
		if f.rule != "" {
			said++
		}
	}
	if d.offsets(a, "") != nil {
		said++
	}
	return said
}

// isLost reports whether a rank has a tensor of which nobody knows where it lies.
func (f *dimsFound) isLost() bool {
	for _, x := range f.by {
		if !x.Partial && x.Map == nil {
			return true
		}
	}
	return false
}

// key is where a role lies, as a text.
func (f *dimsFound) key() string {
	var text strings.Builder
	for _, rank := range slices.Sorted(maps.Keys(f.by)) {
		x := f.by[rank]
		fmt.Fprint(&text, rank, x.Partial, f.full)
		if x.Map != nil {
			for _, axis := range x.Map.Axes {
				fmt.Fprint(&text, axis == nil, axis.Runs())
			}
		}
	}
	return text.String()
}

// say is a rule that says where a role lies, empty for none.
func (f *dimsFound) say(a *dimsAxes) string {
	partial := 0
	for _, x := range f.by {
		if x.Partial {
			partial++
		}
	}
	switch {
	case partial == len(f.by) && len(a.names) > 0:
		return "... # " + a.names[0] + ":" + partialBy
	case partial > 0:
		return ""
	}
	var words []string
	whole := true
	for k := range f.full {
		cuts, ok := f.sayAxis(a, k)
		if !ok {
			return ""
		}
		word := fmt.Sprintf("d%d", k)
		if cuts != "" {
			word += "[" + cuts + "]"
			whole = false
		}
		words = append(words, word)
	}
	if whole {
		return "..."
	}
	return strings.Join(words, " ")
}

// sayAxis says how an axis is cut: by one axis of the mesh, or by two behind each other.
func (f *dimsFound) sayAxis(a *dimsAxes, k int) (cuts string, ok bool) {
	if f.fits(a, k, nil) {
		return "", true
	}
	var single []dimsCut
	for _, name := range a.names {
		single = append(single, f.candidates(a, k, name)...)
	}
	for _, c := range single {
		if f.fits(a, k, []dimsCut{c}) {
			return c.text(), true
		}
	}
	for _, c := range single {
		for _, name := range a.names {
			for _, then := range []dimsCut{{axis: name}, {axis: name, how: zigzagCut}} {
				if name != c.axis && f.fits(a, k, []dimsCut{c, then}) {
					return c.text() + "," + then.text(), true
				}
			}
		}
	}
	return "", false
}

// text is a cut as a rule has it.
func (c *dimsCut) text() string {
	text := c.axis
	if c.how != "" {
		text += ":" + c.how
	}
	for i, n := range c.sizes {
		sign := "/"
		if i == 0 {
			sign = "="
		}
		text += sign + itoa(n)
	}
	return text
}

// maxBlocks is how many parts may be fused; more are blocks of one size.
const maxBlocks = 4

// candidates are the ways in which an axis may be cut by one of the mesh.
func (f *dimsFound) candidates(a *dimsAxes, k int, name string) []dimsCut {
	all := []dimsCut{{axis: name}, {axis: name, how: zigzagCut}}
	full := int(f.full[k])
	for _, rank := range slices.Sorted(maps.Keys(f.by)) {
		at, n := a.dims.along(rank, name)
		if at != 0 || n < 2 {
			continue
		}
		runs := f.by[rank].Map.Axes[k].Or(full).Runs()
		if len(runs) > maxBlocks {
			all = append(all, dimsCut{axis: name, how: blockCut, sizes: []int{runs[0].N}})
		}
		if len(runs) > 1 && len(runs) <= maxBlocks { // of the first rank the parts begin where those of the whole do
			c := dimsCut{axis: name, how: fusedCut}
			for i, r := range runs {
				next := full
				if i+1 < len(runs) {
					next = runs[i+1].From
				}
				if next <= r.From || r.From < 0 {
					c.sizes = nil
					break
				}
				c.sizes = append(c.sizes, next-r.From)
			}
			if c.sizes != nil {
				all = append(all, c)
			}
		}
		break
	}
	return append(all, dimsCut{axis: name, how: padCut, sizes: []int{full}})
}

// fits reports whether cuts give every rank the slices that it has.
func (f *dimsFound) fits(a *dimsAxes, k int, cuts []dimsCut) bool {
	full := int(f.full[k])
	for rank, x := range f.by {
		have := x.Map.Axes[k].Or(full)
		got, err := a.dims.index(&dimsRule{}, dimsAxis{cuts: cuts}, rank, len(have), full)
		if err != nil || !slices.Equal(got.Or(full), have) {
			return false
		}
	}
	return true
}

// expertNote says how many experts each rank along an axis has, empty where that does not say
// which it has.
func (d *dimsWriter) expertNote(a *dimsAxes, rule string) string {
	most := 0
	for at := range d.experts {
		most = max(most, at[1]+1)
	}
	for _, name := range a.names {
		fits := most > 0
		for at, n := range d.experts {
			place, _ := a.dims.along(at[0], name)
			fits = fits && n == place*most+at[1]
		}
		if fits {
			sign := " # "
			if strings.Contains(rule, "#") {
				sign = " "
			}
			return fmt.Sprintf("%s%s:%s=%d", sign, name, expertCut, most)
		}
	}
	return ""
}

// offsets are the numbers that the first layers of stages have in the reference, nil where
// all have their own, or where they do not follow an axis of a name, any for the empty one.
func (d *dimsWriter) offsets(a *dimsAxes, named string) []int {
	if d.mixed {
		return nil
	}
	for _, name := range a.names {
		if named != "" && name != named {
			continue
		}
		_, n := a.dims.along(d.ranks[0], name)
		all := make([]int, n)
		for i := range all {
			all[i] = -1
		}
		fits, differ := true, false
		for rank, shift := range d.shifts {
			at, _ := a.dims.along(rank, name)
			fits = fits && shift >= 0 && (all[at] < 0 || all[at] == shift)
			all[at] = shift
			differ = differ || shift != 0
		}
		if fits && differ && !slices.Contains(all, -1) {
			return all
		}
	}
	return nil
}

// name gives the axes of a mesh that was found the names that fit what is cut by them.
func (d *dimsWriter) name(a *dimsAxes) {
	if a.given {
		return
	}
	free := []string{"tp", "dp", "cp", "pp"}
	var names []string
	var sizes []int
	for _, axis := range a.names {
		wanted := "dp"
		switch {
		case d.offsets(a, axis) != nil:
			wanted = "pp"
		case slices.ContainsFunc(d.all, func(f *dimsFound) bool { return strings.HasPrefix(f.tensor, "parameter") && f.cutBy(axis, "") }):
			wanted = "tp"
		case slices.ContainsFunc(d.all, func(f *dimsFound) bool { return f.cutBy(axis, ":"+zigzagCut) }):
			wanted = "cp"
		}
		switch {
		case len(free) == 0:
			wanted = axis
		case !slices.Contains(free, wanted):
			wanted = free[0]
		}
		free = slices.DeleteFunc(free, func(name string) bool { return name == wanted })
		names, sizes = append(names, wanted), append(sizes, a.dims.sizes[axis])
	}
	*a = *d.newAxes(sizes, names)
	d.say(a)
}

// cutBy reports whether a rule cuts by an axis of the mesh, in some way.
func (f *dimsFound) cutBy(axis, how string) bool {
	return strings.Contains(f.rule, "["+axis+how) || strings.Contains(f.rule, ","+axis+how)
}

// text is the file.
func (d *dimsWriter) text(a *dimsAxes) string {
	var out strings.Builder
	out.WriteString("# Where the tensors of the ranks lie in the reference, as their values say.\n")
	out.WriteString(d.meshText(a))
	if list := d.offsets(a, "pp"); list != nil {
		fmt.Fprintf(&out, "layers: {offset: {pp: [%s]}}\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]"))
	} else if d.mixed || d.offsets(a, "") == nil && slices.ContainsFunc(d.ranks, func(rank int) bool { return d.shifts[rank] != 0 }) {
		out.WriteString("# The layers of ranks have other numbers in the reference, not by an axis.\n")
	}
	whole := 0
	var rules, not []string
	for _, f := range d.all {
		switch pattern := f.pattern(); {
		case f.rule == "...":
			whole++
		case f.rule == "" || pattern == "":
			not = append(not, fmt.Sprintf("# %s %s: %s\n", oneLine(f.role), oneLine(f.tensor), f.why))
		default:
			rules = append(rules, fmt.Sprintf("- {match: %s, dims: %s}\n", quotedYAML(pattern), quotedYAML(f.rule)))
		}
	}
	if len(rules) > 0 {
		out.WriteString("tensors:\n" + strings.Join(rules, ""))
	}
	if whole > 0 {
		fmt.Fprintf(&out, "# Besides, %s of operators whole on every rank.\n", lang.Count(whole, "tensor"))
	}
	if len(not) > 0 {
		out.WriteString("# No rule says where these lie:\n" + strings.Join(not, ""))
	}
	return out.String()
}

// meshText says the places of the ranks: a mesh where that says all.
func (d *dimsWriter) meshText(a *dimsAxes) string {
	var sizes []string
	known := true
	for _, name := range a.names {
		_, n := a.dims.along(d.ranks[0], name)
		sizes = append(sizes, fmt.Sprintf("%s: %d", name, n))
		known = known && slices.Contains(defaultOrder, name)
	}
	order := strings.Join(a.names, "-")
	if a.given || known && d.ranks[len(d.ranks)-1] == len(d.ranks)-1 {
		if len(sizes) == 0 {
			return ""
		}
		return fmt.Sprintf("mesh: {order: %s, %s}\n", order, strings.Join(sizes, ", "))
	}
	var text strings.Builder
	text.WriteString("ranks:\n")
	for _, rank := range d.ranks {
		var at []string
		for _, name := range a.names {
			at = append(at, fmt.Sprintf("%s: %d", name, a.dims.places[rank][name]))
		}
		fmt.Fprintf(&text, "  %d: {%s}\n", rank, strings.Join(at, ", "))
	}
	return text.String()
}

// pattern matches the names of the tensors of a role, empty where the name of the call does
// not begin that of the tensor.
func (f *dimsFound) pattern() string {
	rest, ok := strings.CutPrefix(f.placed.name, f.call)
	if !ok {
		return ""
	}
	parts := strings.Split(f.role, ".")
	for i, part := range parts {
		if parts[i] = regexp.QuoteMeta(part); part == "*" {
			parts[i] = `\d+`
		}
	}
	return "^" + strings.Join(parts, `\.`) + regexp.QuoteMeta(rest) + "$"
}

// quotedYAML is a text of YAML in single quotes.
func quotedYAML(text string) string { return "'" + strings.ReplaceAll(oneLine(text), "'", "''") + "'" }

// oneLine is a name without what ends a line or is no text.
func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffd {
			return '.'
		}
		return r
	}, name)
}
