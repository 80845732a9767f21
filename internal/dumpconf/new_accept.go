package dumpconf

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"dumptool/internal/lang"
)

// unexpanded matches folders that only a shell would know.
var unexpanded = lang.Pattern(`^~|\$\{|\$[A-Za-z_]`)

// acceptable refuses values that the check of the result would report in words
// about something else.
func (b *builder) acceptable(k *templateKey, values []string) error {
	for _, v := range values {
		since, late := sceneSince[v]
		scene := k.Key == "dump_scene"
		switch {
		case k.Key == "dump_path" && !isRemote(v) && unexpanded().MatchString(v):
			return fmt.Errorf("dump_path %s is taken literally by the runtime, which expands neither ~ nor variables: write the folder out", show(v))
		case scene && v == watcherScene:
			return fmt.Errorf("profile %s takes dump_scene %s, found %s; use profile %s", b.template.name, list(k.Values), show(v), v)
		case scene && !slices.Contains(k.Values, v):
			return fmt.Errorf("profile %s takes dump_scene %s, found %s", b.template.name, list(k.Values), show(v))
		case scene && late && b.opt.TargetVersion.lacks(since):
			return fmt.Errorf("dump_scene %s needs version %v or later, the target is %v", v, since, b.opt.TargetVersion)
		case k.wantsNumbers() && !isNumber(v) && k.Values != nil:
			return fmt.Errorf("%s must be one of %s, found %s", k.Key, list(k.Values), show(v))
		case k.wantsNumbers() && !isNumber(v):
			return fmt.Errorf("%s must be a number such as 0 or 12, found %s", k.Key, show(v))
		case k.Type == TypeBool && v != "true" && v != "false" && !lang.SameButForm("true", v) && !lang.SameButForm("false", v):
			return fmt.Errorf("%s must be true or false, found %s", k.Key, show(v))
		case !utf8.ValidString(v):
			return fmt.Errorf("%s: %s is not UTF-8", k.Key, show(v))
		}
	}
	return nil
}
