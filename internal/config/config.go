// Package config reads settings from the environment and from configuration
// files and says where each came from. It is the only place that knows viper.
// It knows neither flags nor what a setting means: the commands hand it their
// names and apply the values.
package config

import (
	"os"
	"path/filepath"
)

// FileName is the name of configuration files.
const FileName = "dumptool.yaml"

// Options says where settings come from. A zero Options has none.
type Options struct {
	// File is a configuration file that must exist and replaces all others.
	File string
	// Folders are searched for FileName. A setting in an earlier folder hides
	// the same setting in a later one.
	Folders []string
	// LookupEnv is os.LookupEnv, or nil for an empty environment.
	LookupEnv func(name string) (string, bool)
}

// Folders returns where configuration files are looked for: the working
// folder, then dumptool's folder in the user's configuration.
func Folders() []string {
	folders := []string{"."}
	if dir, err := os.UserConfigDir(); err == nil {
		folders = append(folders, filepath.Join(dir, "dumptool"))
	}
	return folders
}

// Settings are the values found by Load.
type Settings struct {
	lookupEnv func(string) (string, bool)
	files     []*file
}

// Value is one setting.
type Value struct {
	// Text is the value in the form of a command line.
	Text string
	// List holds the elements if the setting is a list in a file, else nil.
	List []string
	// Source says where the value comes from, as the start of an error text:
	// "environment DUMPTOOL_CONVERT_JOBS" or "dumptool.yaml: convert.jobs".
	Source string
}

// Load reads the configuration files of opt. A folder without one is fine.
func Load(opt Options) (*Settings, error) {
	s := &Settings{lookupEnv: opt.LookupEnv}
	if s.lookupEnv == nil {
		s.lookupEnv = func(string) (string, bool) { return "", false }
	}
	paths := []string{opt.File}
	if opt.File == "" {
		paths = existing(opt.Folders)
	}
	for _, path := range paths {
		f, err := readFile(path)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	return s, nil
}

// existing returns the configuration files in folders. A file that is there
// but cannot be read is no reason to go on without it: reading reports it.
func existing(folders []string) []string {
	var paths []string
	for _, folder := range folders {
		path := filepath.Join(folder, FileName)
		if _, err := os.Stat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// Lookup returns the setting of a flag. command is the path of the command
// without the program, empty for flags of the program itself. An environment
// variable that is set to nothing counts as not set.
func (s *Settings) Lookup(command []string, flag string) (Value, bool) {
	name := EnvName(command, flag)
	if text, ok := s.lookupEnv(name); ok && text != "" {
		return Value{Text: text, Source: "environment " + name}, true
	}
	for _, f := range s.files {
		if v, ok := f.lookup(command, flag); ok {
			return v, true
		}
	}
	return Value{}, false
}
