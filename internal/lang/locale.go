package lang

import "strings"

// ChineseLocale reports whether the variables of the environment ask for Chinese:
// the first of LC_ALL, LC_MESSAGES and LANG that is set decides.
func ChineseLocale(getenv func(name string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := getenv(name); locale != "" {
			return strings.HasPrefix(strings.ToLower(locale), "zh")
		}
	}
	return false
}

// UnicodeLocale reports whether the locale of the environment has all characters.
func UnicodeLocale(getenv func(name string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := getenv(name); locale != "" {
			return strings.Contains(strings.ReplaceAll(strings.ToLower(locale), "-", ""), "utf8")
		}
	}
	return false
}
