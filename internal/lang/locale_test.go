package lang

import (
	"strings"
	"testing"
)

func TestChineseLocale(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{
		"":                                 false,
		"LANG=zh_CN.UTF-8":                 true,
		"LANG=zh":                          true,
		"LANG=ZH_TW":                       true,
		"LANG=en_US.UTF-8":                 false,
		"LANG=zh_CN.UTF-8 LC_ALL=C":        false,
		"LANG=zh_CN.UTF-8 LC_ALL=":         true,
		"LANG=C LC_ALL=zh_CN":              true,
		"LANG=C LC_MESSAGES=zh_CN":         true,
		"LC_MESSAGES=en LANG=zh_CN":        false,
		"LC_ALL=en LC_MESSAGES=zh LANG=zh": false,
		"LANGUAGE=zh LC_CTYPE=zh_CN.UTF-8": false,
	} {
		getenv := func(name string) string {
			for _, set := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(set, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := ChineseLocale(getenv); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}
