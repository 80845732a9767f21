package config

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"dumptool/internal/safefile"

	"github.com/spf13/viper"
)

// file is one configuration file.
type file struct {
	path string
	tree map[string]any // keys in lower case, dashes for underscores
}

// keySeparator keeps viper from splitting keys: no key holds this byte.
const keySeparator = "\x00"

// readFile reads a configuration file.
func readFile(path string) (*file, error) {
	data, err := safefile.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the configuration: %w", err)
	}
	v := viper.NewWithOptions(viper.KeyDelimiter(keySeparator))
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(data)); err != nil {
		return nil, syntaxError(path, err)
	}
	f := &file{path: path}
	f.tree, err = f.normalize(nil, v.AllSettings())
	if err != nil {
		return nil, err
	}
	return f, nil
}

// syntaxError puts the position that the parser names where editors look for
// it: "dumptool.yaml:3: mapping values are not allowed in this context".
func syntaxError(path string, err error) error {
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	position := regexp.MustCompile(`line (\d+): (.*)`)
	if m := position.FindStringSubmatch(text); m != nil {
		if strings.Contains(m[2], "cannot unmarshal") {
			m[2] = "settings must be lines of the form name: value"
		}
		return fmt.Errorf("%s:%s: %s", path, m[1], m[2])
	}
	return fmt.Errorf("%s: %s", path, strings.TrimPrefix(text, "While parsing config: yaml: "))
}

// normalize returns tree with dashes for underscores in its keys, which is how
// flags are spelled.
func (f *file) normalize(parents []string, tree map[string]any) (map[string]any, error) {
	result := make(map[string]any, len(tree))
	for key, value := range tree {
		name := strings.ReplaceAll(key, "_", "-")
		path := append(parents[:len(parents):len(parents)], name)
		if _, twice := result[name]; twice {
			return nil, fmt.Errorf("%s: given twice, with - and with _", f.source(path))
		}
		if group, ok := value.(map[string]any); ok {
			var err error
			if value, err = f.normalize(path, group); err != nil {
				return nil, err
			}
		}
		result[name] = value
	}
	return result, nil
}

// source names a setting of the file.
func (f *file) source(path []string) string {
	return f.path + ": " + strings.Join(path, ".")
}

// lookup returns the setting of a flag.
func (f *file) lookup(command []string, flag string) (Value, bool) {
	group := f.tree
	for _, word := range command {
		group, _ = group[word].(map[string]any)
	}
	value, ok := group[flag]
	if !ok {
		return Value{}, false
	}
	if _, ok := value.(map[string]any); ok {
		return Value{}, false // the group of a command with the name of a flag
	}
	v := Value{Source: f.source(append(command[:len(command):len(command)], flag))}
	if list, ok := value.([]any); ok {
		v.List = make([]string, len(list))
		for i, element := range list {
			v.List[i] = text(element)
		}
		v.Text = strings.Join(v.List, ",")
		return v, true
	}
	v.Text = text(value)
	return v, true
}
