package ranks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/ranks/locate"
)

// applyDims puts the tensors of a role where a file of dims says they are, unless their values
// say something else: that is a finding.
func (u *unsharder) applyDims(r *tensorRole) error {
	if u.dims == nil {
		return nil
	}
	for _, all := range alike(slices.Values(r.all), func(in partOf) (*dimsRule, bool) {
		// What is communicated is where the tensor of the operator is.
		if in.part.Call.Comm != nil {
			return nil, false
		}
		rule := u.dims.rule(in.part.Name)
		return rule, rule != nil
	}) {
		if err := u.applyRule(u.dims.rule(all[0].part.Name), all); err != nil {
			return err
		}
	}
	return nil
}

// applyRule puts tensors where a rule says they are.
func (u *unsharder) applyRule(rule *dimsRule, all []partOf) error {
	switch {
	case rule.skip:
		for _, in := range all {
			u.out.Left[in.part] = true
		}
		return nil
	case rule.partial:
		for _, in := range all {
			l := u.out.At[in.part]
			if l.Map != nil && isSure(l.Map) {
				u.elsewhere(rule, in.part, summandText, l)
				continue
			}
			u.out.At[in.part] = Location{Ref: in.whole, Partial: true}
		}
		return nil
	}
	made := make(map[string]*locate.Role) // by the shapes of both
	for _, in := range all {
		if len(rule.axes) == 0 && rule.rest < 0 { // it says something of experts or replicas only
			return nil
		}
		key := in.part.Shape.String() + in.whole.Shape.String()
		if made[key] == nil {
			axes, err := u.dims.indexes(rule, u.rank, in.part.Shape, in.whole.Shape)
			if err != nil {
				e := err.(*DimsError) //nolint:errorlint,forcetypeassert // indexes has no others
				return &DimsError{e.File, e.Line, e.Column, lang.Say("%s of %s: %s", in.part.Name, RankText([]int{u.rank}), e.Problem)}
			}
			made[key] = u.given(axes, all)
		}
		u.place(rule, in, made[key])
	}
	return nil
}

// given is the map of a rule, with the share of layers in which the values agree as its score.
func (u *unsharder) given(axes []locate.Index, all []partOf) *locate.Role {
	m := &locate.Role{Map: locate.Map{Axes: axes}, Found: true, Given: true}
	tried := 0
	for _, in := range someLayers(all) {
		part, whole := u.array(in.part, nil, false), u.array(in.whole, nil, true)
		if part == nil || whole == nil || !slices.Equal(lengths(axes, whole.Shape), part.Shape) {
			continue
		}
		if tried++; m.Agrees(part, whole) {
			m.Instances++
		}
	}
	m.Score = float64(m.Instances) / float64(max(tried, 1))
	return m
}

// lengths are the numbers of slices that indexes take of a shape.
func lengths(axes []locate.Index, shape []int) []int {
	if len(axes) != len(shape) {
		return nil
	}
	out := slices.Clone(shape)
	for k, x := range axes {
		if x != nil {
			out[k] = len(x)
		}
	}
	return out
}

// isSure reports whether a map was found by values.
func isSure(m *locate.Role) bool {
	return m.Found && !m.Assumed && !m.Given && m.Instances > 0 && m.Others == 0
}

// place puts a tensor where a rule says, unless its values say something else.
func (u *unsharder) place(rule *dimsRule, in partOf, m *locate.Role) {
	l := u.out.At[in.part]
	switch {
	case l.Partial && m.Instances == 0:
		u.elsewhere(rule, in.part, mapText(&m.Map), l)
	case l.Map != nil && !l.Partial && l.Map.Same(&m.Map): // as found
	case l.Map != nil && m.Instances == 0 && isSure(l.Map):
		u.elsewhere(rule, in.part, mapText(&m.Map), l)
	default:
		u.out.At[in.part] = Location{Ref: in.whole, Map: m}
	}
}

// mismatch is the finding that a tensor does not lie where a rule says, but elsewhere.
func (u *unsharder) mismatch(rule *dimsRule, t *Tensor, want, have lang.Text, sure bool) {
	f := t.Call.finding(DimsMismatch, medium,
		lang.Sayf("line %d of the dims file says that %s is %s; by its values it is %s", "dims 文件第 %d 行称 %s 为 %s；按其值则为 %s", rule.line, t.Name, want, have))
	f.Facts, f.rule = finding.Facts{}, rule
	if sure {
		f.Confidence = high
	}
	u.out.addMismatch(f)
}

// addMismatch adds a finding; one of a rule names all ranks.
func (l *Located) addMismatch(f *Finding) {
	i := slices.IndexFunc(l.Mismatches, func(g *Finding) bool { return g.rule == f.rule })
	switch {
	case i < 0:
		l.Mismatches = append(l.Mismatches, f)
	case !slices.Contains(l.Mismatches[i].Members, f.Rank):
		l.Mismatches[i].Members = append(l.Mismatches[i].Members, f.Rank)
	}
}

// elsewhere is the finding that a tensor lies where its values say.
func (u *unsharder) elsewhere(rule *dimsRule, t *Tensor, want lang.Text, l Location) {
	if l.Partial {
		u.mismatch(rule, t, want, summandText, false)
		return
	}
	u.mismatch(rule, t, want, mapText(&l.Map.Map), l.Map.Score >= sureScore && l.Map.Instances > 1)
}

// summandText is that of a tensor that ranks add up.
var summandText = lang.Text{EN: "a summand", ZH: "求和的加数"}

// sureScore is the share of slices from which on a map is sure.
const sureScore = 0.95

// mapText says which slices a map takes: 0-15 of axis 0, or all.
func mapText(m *locate.Map) lang.Text {
	var en, zh []string
	for k, x := range m.Axes {
		if x == nil {
			continue
		}
		var runs []string
		for i, r := range x.Runs() {
			if i == maxRuns {
				runs = append(runs, "...")
				break
			}
			switch {
			case r.From < 0:
				runs = append(runs, "padding")
			case r.N == 1:
				runs = append(runs, strconv.Itoa(r.From))
			default:
				runs = append(runs, strconv.Itoa(r.From)+"-"+strconv.Itoa(r.From+r.N-1))
			}
		}
		list := strings.Join(runs, ",")
		en = append(en, fmt.Sprintf("%s of axis %d", list, k))
		zh = append(zh, fmt.Sprintf("轴 %d 的 %s", k, list))
	}
	if en == nil {
		return lang.Text{EN: "all of the tensor of the reference", ZH: "标杆张量的全部"}
	}
	return lang.Text{EN: strings.Join(en, " and "), ZH: strings.Join(zh, "与")}
}

func layerText(n int) lang.Text {
	return lang.Text{EN: "layer " + itoa(n), ZH: "第 " + itoa(n) + " 层"}
}

func expertText(n int) lang.Text {
	return lang.Text{EN: "expert " + itoa(n), ZH: "专家 " + itoa(n)}
}

// maxRuns is how many runs of slices a text names.
const maxRuns = 6

// givenShift is how far the numbers of layers of a rank are off in the reference: what a file
// says, else what was found by so many votes.
func (u *unsharder) givenShift(calls []*Call, found, votes int) int {
	if u.dims == nil || u.dims.layers == nil {
		return found
	}
	stage, _ := u.dims.along(u.rank, "pp")
	if stage >= len(u.dims.layers) || u.dims.listed {
		return found
	}
	given := u.dims.layers[stage][0]
	i := slices.IndexFunc(calls, func(c *Call) bool { return c.Layer >= 0 && len(c.Params) > 0 })
	if votes > 0 && given != found && i >= 0 {
		u.mismatch(u.dims.stages, calls[i].Params[0], layerText(given+calls[i].Layer), layerText(found+calls[i].Layer), true)
		return found
	}
	return given
}

// layerOf is the number that a layer of the rank has in the reference.
func (u *unsharder) layerOf(layer int) int {
	if d := u.dims; d != nil && d.listed {
		if stage, _ := d.along(u.rank, "pp"); stage < len(d.layers) && layer >= 0 && layer < len(d.layers[stage]) {
			return d.layers[stage][layer]
		}
	}
	return layer + u.shift
}

// givenExpert is the name that an expert has in the reference by a rule, unless its values are
// those of another one, which was found.
func (u *unsharder) givenExpert(c *Call, name, found string) string {
	named := c.Name
	if all := c.tensors(); len(all) > 0 {
		named = all[0].Name
	}
	rule := u.dims.rule(named)
	if rule == nil || rule.experts.axis == "" {
		return found
	}
	_, _, local := parseName(c.Name)
	at, _ := u.dims.along(u.rank, rule.experts.axis)
	given := numbered(name, expertWords, at*rule.experts.sizes[0]+local)
	if found != "" && found != given && len(c.Params) > 0 {
		_, _, of := parseName(given)
		_, _, is := parseName(found)
		u.mismatch(rule, c.Params[0], expertText(of), expertText(is), true)
		return found
	}
	return given
}
