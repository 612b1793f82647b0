#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Fetches one package into this folder by the index of one suite:
# apt-download.sh PACKAGE ARCHITECTURE ARCHIVE SUITE [OPTION OF THE SOURCE...].
# Neither the sources nor the packages of this machine's own apt count.
set -euo pipefail
package=$1 arch=$2 archive=$3 suite=$4

apt() {
	apt-get -q -o "Dir::State=$PWD/state" -o Dir::State::status=/dev/null \
		-o "Dir::Cache=$PWD/cache" -o "Dir::Etc::SourceList=$PWD/sources.list" \
		-o Dir::Etc::SourceParts=- -o Dir::Etc::PreferencesParts=- \
		-o "APT::Architecture=$arch" -o "APT::Architectures=$arch" \
		-o Acquire::Languages=none -o Acquire::Retries=1 \
		-o Acquire::http::Timeout=30 -o APT::Sandbox::User=root "$@"
}

# The apt of a machine that is not Debian's need not trust Debian.
for keyring in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
	[ ! -e "$keyring" ] || signed=signed-by=$keyring
done
mkdir -p state/lists/partial cache/archives/partial
echo "deb [check-valid-until=no ${signed:-} ${*:5}] $archive $suite main" >sources.list
apt --error-on=any update
apt download "$package"
