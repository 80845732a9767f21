package dumpconf

import (
	"fmt"
	"regexp"
	"slices"
)

// unexpanded matches folders that only a shell would know.
var unexpanded = regexp.MustCompile(`^~|\$\{|\$[A-Za-z_]`)

// acceptable refuses values that the check of the result would report in words
// about something else.
func (m *making) acceptable(g *ingredient, values []string) error {
	for _, v := range values {
		switch {
		case g.Key == "dump_path" && !isRemote(v) && unexpanded.MatchString(v):
			return fmt.Errorf("dump_path %s is taken literally by the runtime, which expands neither ~ nor variables: write the folder out", show(v))
		case g.Key == "dump_scene":
			if err := m.acceptableScene(g, v); err != nil {
				return err
			}
		case g.wantsNumbers() && !isNumber(v):
			if g.Values != nil {
				return fmt.Errorf("%s must be one of %s, found %s", g.Key, list(g.Values), show(v))
			}
			return fmt.Errorf("%s must be a number such as 0 or 12, found %s", g.Key, show(v))
		case g.Type == TypeBool && v != "true" && v != "false" && !sameButForm("true", v) && !sameButForm("false", v):
			return fmt.Errorf("%s must be true or false, found %s", g.Key, show(v))
		}
	}
	return nil
}

// wantsNumbers reports whether the values of the key are numbers.
func (g *ingredient) wantsNumbers() bool { return g.Type == TypeUint || g.Type == TypeUints }

// acceptableScene refuses scenes that are no exception dump, or that the target
// version does not know.
func (m *making) acceptableScene(g *ingredient, scene string) error {
	since, late := sceneSince[scene]
	switch {
	case scene == watcherScene:
		return fmt.Errorf("profile %s takes dump_scene %s, found %s; use profile %s", m.recipe.name, list(g.Values), show(scene), watcherScene)
	case !slices.Contains(g.Values, scene):
		return fmt.Errorf("profile %s takes dump_scene %s, found %s", m.recipe.name, list(g.Values), show(scene))
	case late && m.opt.TargetVersion.lacks(since):
		return fmt.Errorf("dump_scene %s needs version %v or later, the target is %v", scene, since, m.opt.TargetVersion)
	default:
		return nil
	}
}
